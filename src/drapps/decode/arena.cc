#include "drapps/decode/arena.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace drapps {
namespace {

constexpr std::size_t kFirstBlock = 256 * 1024;

}  // namespace

void* Arena::allocate(std::size_t bytes) {
  if (bytes > std::numeric_limits<std::size_t>::max() / 4) bytes = std::numeric_limits<std::size_t>::max() / 4;
  const std::size_t size = (bytes + kPadding + kAlignment - 1) / kAlignment * kAlignment;
  if (blocks_.empty() || blocks_.back().capacity() - filled_ < size) {
    Buffer block(*ledger_);
    // Each block doubles what there is, so the number of blocks stays logarithmic in what one picture needs.
    if (Status status = block.ensure(std::max({size, kFirstBlock, total_})); !status.ok()) {
      status = block.ensure(size);
      if (!status.ok()) {
        exhausted_ = true;
        error_ = std::move(status).error();
        error_.stage = Stage::kDecode;
        return nullptr;
      }
    }
    blocks_.push_back(std::move(block));
    filled_ = 0;
  }
  std::uint8_t* piece = blocks_.back().data() + filled_;
  filled_ += size;
  total_ += size;
  return piece;
}

void Arena::rewind() {
  if (blocks_.size() > 1) {
    // One block for everything from now on. Where even that is refused, the next allocate() starts afresh.
    blocks_.clear();
    Buffer block(*ledger_);
    if (block.ensure(total_).ok()) blocks_.push_back(std::move(block));
  }
  filled_ = 0;
  total_ = 0;
  exhausted_ = false;
}

void Arena::reset() noexcept {
  blocks_.clear();
  filled_ = 0;
  total_ = 0;
  exhausted_ = false;
}

}  // namespace drapps
