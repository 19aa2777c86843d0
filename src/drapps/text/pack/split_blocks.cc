#include "drapps/text/pack/split_blocks.h"

#include "drapps/storage/file_identity.h"

namespace drapps::text {

SplitBlocks::SplitBlocks(std::uint64_t blocks, const Packing& packing, std::uint32_t split, std::uint32_t epoch)
    : splits_(packing.splits),
      split_(split),
      size_(static_cast<std::uint32_t>((blocks - split + packing.splits - 1) / packing.splits)) {
  if (!packing.shuffle) return;
  all_.emplace(blocks, packing.seed, packing.ends ? 0 : epoch);
  if (packing.ends) own_.emplace(size_, mixed(packing.seed + split), epoch);
}

std::uint64_t SplitBlocks::at(std::uint32_t place) const noexcept {
  const std::uint64_t own = own_ ? own_->at(place) : place;
  const std::uint64_t among_all = own * splits_ + split_;
  return all_ ? all_->at(among_all) : among_all;
}

}  // namespace drapps::text
