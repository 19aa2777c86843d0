// Decoding tables by the bytes they are made of: most files of a data set share theirs.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "drapps/base/result.h"
#include "drapps/data/buffer.h"
#include "drapps/kernel/jpeg/huffman.h"

namespace drapps::jpeg {

/// The last tables asked for. One thread.
class TableCache {
 public:
  explicit TableCache(MemoryLedger& ledger) noexcept : memory_(ledger) {}

  /// The table of a code, as make_table() takes it; null for one that it refuses. It holds until kPlaces other codes
  /// have been asked for. kResourceExhausted as Buffer::ensure.
  Result<const kernel::jpeg::HuffmanTable*> get(kernel::jpeg::CodeClass kind, std::span<const std::uint8_t> code);

  void reset() noexcept;

  /// A picture has up to six codes.
  static constexpr std::size_t kPlaces = 8;

 private:
  struct TablePlace {
    std::array<std::uint8_t, 16 + 256> code;
    std::size_t size = 0;          // 0: free
    std::uint64_t last_asked = 0;  // number of the last get() of this code
    kernel::jpeg::CodeClass kind{};
    bool good = false;
  };
  std::array<TablePlace, kPlaces> places_;
  std::uint64_t asked_ = 0;
  Buffer memory_;  // a table for each place
};

}  // namespace drapps::jpeg
