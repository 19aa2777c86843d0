// What compresses the bands of an array. One file each: lz4.cc, zstd.cc, snappy.cc.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "drapps/base/memory_ledger.h"

namespace drapps::cache {

/// One thread; its working memory is counted in the ledger.
class Compressor {
 public:
  virtual ~Compressor() = default;
  /// Bytes written, or 0 where that many are not less than the input's, or there is no memory.
  /// @param out  as large as the input.
  virtual std::size_t compress(std::span<const std::uint8_t> in, std::span<std::uint8_t> out) = 0;
  /// Fills `out` exactly. False for anything else than what compress() made of so many bytes.
  virtual bool decompress(std::span<const std::uint8_t> in, std::span<std::uint8_t> out) = 0;
  /// Whether differences of neighbours compress better than the values by more than undoing them costs.
  virtual bool likes_differences() const noexcept = 0;
};

std::unique_ptr<Compressor> make_lz4();
std::unique_ptr<Compressor> make_zstd(MemoryLedger& ledger);
std::unique_ptr<Compressor> make_snappy(MemoryLedger& ledger);

}  // namespace drapps::cache
