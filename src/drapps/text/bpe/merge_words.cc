#include "drapps/text/bpe/merge_words.h"

#include <algorithm>
#include <array>
#include <cstdint>

#include "drapps/text/bpe/merge_in_turns.h"

namespace drapps::text {
namespace {

constexpr int kPlaceBits = 5;
constexpr std::uint8_t kNowhere = 0xFF;

/// Tokens stay at the place of their first byte. A pair is its rank and, in the low bits, its place: the least of all
/// is the one to merge.
class MergingWord {
 public:
  std::size_t number;
  std::int32_t least;  // what to merge

  void begin(const BpeModel& model, std::string_view pretoken) noexcept;
  void choose(const BpeModel& model) noexcept;
  void join(const BpeModel& model) noexcept;
  void finish(MergedWord& merged) const noexcept;

 private:
  void look_up(const BpeModel& model, std::uint8_t& place) noexcept;

  std::uint8_t size_;
  std::uint8_t left_;   // a place whose pair is fetched, or kNowhere
  std::uint8_t right_;  // another such place
  std::array<std::int32_t, kMaxWord> pairs_;
  std::array<TokenId, kMaxWord> ids_;
  std::array<std::uint8_t, kMaxWord> next_;
  std::array<std::uint8_t, kMaxWord> previous_;
};

void MergingWord::begin(const BpeModel& model, std::string_view pretoken) noexcept {
  std::array<char, kMaxWord> bytes;
  std::uint8_t n = 0;
  for (const char byte : pretoken) {
    ids_[n] = model.byte_ids[static_cast<std::uint8_t>(byte)];
    bytes[n] = byte;
    n += ids_[n] >= 0;
  }
  size_ = n;
  left_ = right_ = kNowhere;
  pairs_.fill(kNoMerge);
  for (std::uint8_t i = 0; i < n; ++i) {
    next_[i] = static_cast<std::uint8_t>(i + 1);
    previous_[i] = static_cast<std::uint8_t>(i - 1);
    if (i + 1 == n) break;
    const std::uint32_t rank = model.byte_pairs[byte_pair(bytes[i], bytes[i + 1])];
    if (rank != PairTable::kNone) pairs_[i] = static_cast<std::int32_t>(rank << kPlaceBits | i);
  }
}

void MergingWord::look_up(const BpeModel& model, std::uint8_t& place) noexcept {
  if (place == kNowhere) return;
  const std::uint32_t rank = model.pairs.find(ids_[place], ids_[next_[place]]);
  pairs_[place] = rank == PairTable::kNone ? kNoMerge : static_cast<std::int32_t>(rank << kPlaceBits | place);
  place = kNowhere;
}

void MergingWord::choose(const BpeModel& model) noexcept {
  look_up(model, left_);
  look_up(model, right_);
  std::array<std::int32_t, 4> lane{kNoMerge, kNoMerge, kNoMerge, kNoMerge};
  for (std::size_t i = 0; i < size_; i += 4) {
    for (std::size_t j = 0; j < 4; ++j) lane[j] = std::min(lane[j], pairs_[i + j]);
  }
  least = std::min(std::min(lane[0], lane[1]), std::min(lane[2], lane[3]));
  if (least != kNoMerge) __builtin_prefetch(&model.merged[static_cast<std::uint32_t>(least) >> kPlaceBits]);
}

void MergingWord::join(const BpeModel& model) noexcept {
  const auto place = static_cast<std::uint8_t>(least & ((1 << kPlaceBits) - 1));
  const std::uint8_t right = next_[place];
  const std::uint8_t behind = next_[right];
  ids_[place] = model.merged[static_cast<std::uint32_t>(least) >> kPlaceBits];
  next_[place] = behind;
  pairs_[place] = pairs_[right] = kNoMerge;
  if (behind < size_) {
    previous_[behind] = place;
    right_ = place;
    model.pairs.fetch(ids_[place], ids_[behind]);
  }
  if (place > 0) {
    left_ = previous_[place];
    model.pairs.fetch(ids_[left_], ids_[place]);
  }
}

void MergingWord::finish(MergedWord& merged) const noexcept {
  std::size_t tokens = 0;
  for (std::uint8_t i = 0; i < size_; i = next_[i], ++tokens) {
    if (tokens < MergedWord::kMaxIds) merged.ids[tokens] = ids_[i];
  }
  merged.tokens = static_cast<std::uint32_t>(tokens);
}

}  // namespace

void merge_words_portable(const BpeModel& model, std::span<const std::string_view> words, MergedWord* merged) noexcept {
  merge_in_turns<MergingWord, 12>(model, words, merged, [](std::string_view) { return true; });
}

std::uint32_t find_pair(const PairTable& pairs, std::uint64_t key) noexcept { return pairs.find(key); }

MergeWords merge_words_of(kernel::Level level) noexcept {
  return level >= kernel::Level::kAvx512 ? merge_words_avx512 : merge_words_portable;
}

}  // namespace drapps::text
