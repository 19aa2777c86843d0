// Memory for codec libraries that ask for many small pieces and give them all back at once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "drapps/base/memory_ledger.h"
#include "drapps/data/buffer.h"

namespace drapps {

/// A bump allocator charged to a ledger. Pieces stay where they are until rewind(). After a rewind the arena is one
/// block as large as everything that was asked for, so a stream of similar pictures allocates nothing. One thread.
class Arena {
 public:
  explicit Arena(MemoryLedger& ledger) noexcept : ledger_(&ledger) {}

  /// `bytes` bytes aligned to kAlignment with kPadding behind them, content unspecified; nullptr where the ledger or
  /// the system has no more, and then error() says why.
  void* allocate(std::size_t bytes);

  /// Takes all pieces back and keeps the memory. Clears error().
  void rewind();

  /// Frees the memory.
  void reset() noexcept;

  bool exhausted() const noexcept { return exhausted_; }
  const Error& error() const noexcept { return error_; }

 private:
  MemoryLedger* ledger_;
  std::vector<Buffer> blocks_;  // the last one is being filled
  std::size_t filled_ = 0;      // bytes of the last block in use
  std::size_t total_ = 0;       // bytes asked for since the last rewind, as laid out
  bool exhausted_ = false;
  Error error_;
};

}  // namespace drapps
