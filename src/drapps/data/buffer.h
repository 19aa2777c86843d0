// Growable bytes, aligned for SIMD and charged to a memory ledger.
//
//   Buffer buffer(ledger);
//   DRAPPS_RETURN_IF_ERROR(buffer.ensure(bytes));
//   std::memcpy(buffer.data(), from, bytes);
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "drapps/base/memory_ledger.h"
#include "drapps/base/result.h"

namespace drapps {

/// Rows and buffers start at a multiple of this many bytes.
inline constexpr std::size_t kAlignment = 64;

/// Bytes past the asked size of every Buffer that may be read and written, so that a SIMD
/// kernel may load or store a whole vector at the end. Their content means nothing.
inline constexpr std::size_t kPadding = 64;

/// Owned by one thread at a time. Growing drops the content; a Buffer never shrinks by itself,
/// so a reused one allocates nothing in the steady state.
class Buffer {
 public:
  explicit Buffer(MemoryLedger& ledger) noexcept : ledger_(&ledger) {}
  ~Buffer() { reset(); }
  Buffer(Buffer&& other) noexcept;
  Buffer& operator=(Buffer&& other) noexcept;

  /// Makes at least `bytes` bytes available at data(). kResourceExhausted where the ledger or
  /// the system has no more; the buffer is then empty.
  Status ensure(std::size_t bytes);
  /// Frees the memory, and releases it in the ledger.
  void reset() noexcept;

  std::uint8_t* data() noexcept { return data_; }
  const std::uint8_t* data() const noexcept { return data_; }
  std::size_t capacity() const noexcept { return capacity_; }
  MemoryLedger& ledger() const noexcept { return *ledger_; }

 private:
  MemoryLedger* ledger_;
  std::uint8_t* data_ = nullptr;
  std::size_t capacity_ = 0;
};

}  // namespace drapps
