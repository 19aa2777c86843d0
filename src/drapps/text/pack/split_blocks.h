// The blocks of one split in the order of one epoch; or its documents, where these are dealt one by one.
//
// The block at place p of an order of all belongs to split p mod S. That order is the epoch's; but where epochs end it
// is that of epoch 0, so that splits have the same blocks in each, and the epoch puts those of a split in order.
#pragma once

#include <cstdint>
#include <optional>

#include "drapps/source/permutation.h"
#include "drapps/text/pack/packing.h"

namespace drapps::text {

/// Immutable.
class SplitBlocks {
 public:
  /// @param blocks  of the corpus, at least as many as there are splits.
  SplitBlocks(std::uint64_t blocks, const Packing& packing, std::uint32_t split, std::uint32_t epoch);

  std::uint32_t size() const noexcept { return size_; }
  /// Which block of the corpus comes at a place below size().
  std::uint64_t at(std::uint32_t place) const noexcept;

 private:
  std::uint32_t splits_, split_, size_;
  std::optional<Permutation> all_;  // blocks of the corpus
  std::optional<Permutation> own_;  // places among those of the split
};

}  // namespace drapps::text
