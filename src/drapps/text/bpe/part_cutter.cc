#include "drapps/text/bpe/part_cutter.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

namespace drapps::text {
namespace {

std::uint32_t load(const std::uint8_t* p) noexcept {
  std::uint32_t word;
  std::memcpy(&word, p, sizeof(word));
  return word;
}

/// A bit for each of up to 64 bytes: whether a character from U+2000 on begins there that takes three.
std::uint64_t leads_of_three(const std::uint8_t* p, std::size_t size) noexcept {
  constexpr std::uint64_t kHighBits = 0x8080'8080'8080'8080U;
  constexpr std::uint64_t kLowestFirst = 0x0102'0408'1020'4080U;  // a factor that brings bits of bytes together
  std::array<std::uint64_t, 8> words{};
  std::memcpy(words.data(), p, std::min(size, sizeof(words)));
  std::uint64_t leads = 0;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::uint64_t word = words[i];
    const std::uint64_t three = word & word << 1 & word << 2 & ~(word << 3);           // 1110'....
    const std::uint64_t is = three & (word << 4 | word << 5 | word << 6) & kHighBits;  // and beyond 0xE1
    leads |= (is >> 7) * kLowestFirst >> 56 << 8 * i;
  }
  return leads;
}

}  // namespace

void PartCutter::take(const PretokenBatch& batch) noexcept {
  text_ = batch.text;
  size_ = batch.size;
  std::copy_n(batch.ends.begin(), size_, ends_.begin());
  next_ = 0;
  block_ = 0;
  leads_before_ = 0;
  part_before_ = false;
}

std::uint64_t PartCutter::parts_in(std::uint32_t at, std::uint64_t candidates) const noexcept {
  const std::uint8_t* const text = text_ + at;
  const auto sides = [text](int i) {
    return std::pair(CharBytes{load(text + i - 3) & 0xFF'FFFF, 3}, CharBytes{load(text + i - 1) >> 8, 3});
  };
  std::uint64_t crossed = 0, may_be = 0;
  for (std::uint64_t bits = candidates; bits != 0; bits &= bits - 1) {  // without a branch that cannot be foreseen
    const int i = std::countr_zero(bits);
    const auto [left, right] = sides(i);
    crossed |= std::uint64_t{boundaries_.crossed_whole(left, right)} << i;
    may_be |= std::uint64_t{boundaries_.may_be_crossed_partly(left, right)} << i;
  }
  for (std::uint64_t bits = may_be & ~crossed; bits != 0; bits &= bits - 1) {
    const int i = std::countr_zero(bits);
    const auto [left, right] = sides(i);
    crossed |= std::uint64_t{boundaries_.crossed_partly(left, right)} << i;
  }
  return candidates & ~crossed;
}

void PartCutter::give(PretokenBatch& batch) noexcept {
  const auto given = static_cast<std::uint32_t>(batch.text - text_);
  std::size_t n = 0;
  while (next_ < size_ && n + kBlock <= PretokenBatch::kMost) {
    std::uint64_t ends = 0;
    for (; next_ < size_ && ends_[next_] - block_ < kBlock; ++next_)
      ends |= std::uint64_t{1} << (ends_[next_] - block_);
    const std::uint64_t leads = leads_of_three(text_ + block_, ends_[size_ - 1] - block_);
    const std::uint64_t parts = parts_in(block_, leads & (leads << 3 | leads_before_) & ~ends);
    for (std::uint64_t all = ends | parts; all != 0; all &= all - 1) {
      const auto i = static_cast<std::uint32_t>(std::countr_zero(all));
      const bool part = (parts >> i & 1) != 0;
      batch.ends[n] = block_ + i - given;
      batch.is_part[n++] = part | part_before_;
      part_before_ = part;
    }
    leads_before_ = leads >> (kBlock - 3);
    block_ += kBlock;
  }
  batch.size = n;
}

}  // namespace drapps::text
