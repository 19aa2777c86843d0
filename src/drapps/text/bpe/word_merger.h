// Merging many short pretokens side by side.
//
// What one of them needs of the pair table is mostly not in a cache, and each merge waits for it. So several are merged
// in turns: while what one needs is fetched, the others go on.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>

#include "drapps/text/bpe/model.h"

namespace drapps::text {

/// The ids are those that Merger gives. Has memory of its own: one for each thread.
class WordMerger {
 public:
  static constexpr std::size_t kMaxSize = 15;  // bytes of a pretoken

  explicit WordMerger(const BpeModel& model) noexcept : model_(model) {}

  /// Merges pretokens until there are none.
  /// @param next  (std::string_view&) the next one, of 1 to kMaxSize bytes, and the number it goes by; negative: none.
  /// @param done  (number, ids, tokens) takes those of one, in any order.
  template <class Next, class Done>
  void merge(const Next& next, const Done& done);

 private:
  static constexpr std::size_t kTogether = 12;
  static constexpr std::int32_t kNoPair = 0x7FFF'FFFF;
  static constexpr int kPlaceBits = 4;
  static constexpr std::uint8_t kNowhere = 0xFF;

  /// Tokens stay at the place of their first byte. A pair is its rank and, in the low bits, its place: the least of all
  /// is the one to merge.
  struct MergingWord {
    std::int32_t number;
    std::uint8_t size;
    std::uint8_t left = kNowhere;   // a place whose pair is fetched
    std::uint8_t right = kNowhere;  // another such place
    std::int32_t least = kNoPair;
    std::array<std::int32_t, 16> pairs;
    std::array<TokenId, 16> ids;
    std::array<std::uint8_t, 16> next;
    std::array<std::uint8_t, 16> previous;
  };

  void begin(MergingWord& word, std::string_view pretoken) const noexcept;
  void look_up(MergingWord& word, std::uint8_t& place) const noexcept;
  /// The pair to merge, kNoPair where there is none.
  void choose(MergingWord& word) const noexcept;
  void join(MergingWord& word) const noexcept;
  std::size_t finish(MergingWord& word) const noexcept;

  const BpeModel& model_;
  std::array<MergingWord, kTogether> words_;
};

inline void WordMerger::begin(MergingWord& word, std::string_view pretoken) const noexcept {
  std::array<char, 16> bytes;
  std::uint8_t n = 0;
  for (const char byte : pretoken) {
    word.ids[n] = model_.byte_ids[static_cast<std::uint8_t>(byte)];
    bytes[n] = byte;
    n += word.ids[n] >= 0;
  }
  word.size = n;
  word.left = word.right = kNowhere;
  word.pairs.fill(kNoPair);
  for (std::uint8_t i = 0; i < n; ++i) {
    word.next[i] = static_cast<std::uint8_t>(i + 1);
    word.previous[i] = static_cast<std::uint8_t>(i - 1);
    if (i + 1 == n) break;
    const std::uint32_t rank = model_.byte_pairs[byte_pair(bytes[i], bytes[i + 1])];
    if (rank != PairTable::kNone) word.pairs[i] = static_cast<std::int32_t>(rank << kPlaceBits | i);
  }
}

inline void WordMerger::look_up(MergingWord& word, std::uint8_t& place) const noexcept {
  if (place == kNowhere) return;
  const std::uint32_t rank = model_.pairs.find(word.ids[place], word.ids[word.next[place]]);
  word.pairs[place] = rank == PairTable::kNone ? kNoPair : static_cast<std::int32_t>(rank << kPlaceBits | place);
  place = kNowhere;
}

inline void WordMerger::choose(MergingWord& word) const noexcept {
  look_up(word, word.left);
  look_up(word, word.right);
  std::array<std::int32_t, 4> lane{kNoPair, kNoPair, kNoPair, kNoPair};
  for (std::size_t i = 0; i < word.size; i += 4) {
    for (std::size_t j = 0; j < 4; ++j) lane[j] = std::min(lane[j], word.pairs[i + j]);
  }
  word.least = std::min(std::min(lane[0], lane[1]), std::min(lane[2], lane[3]));
  if (word.least != kNoPair) __builtin_prefetch(&model_.merged[static_cast<std::uint32_t>(word.least) >> kPlaceBits]);
}

inline void WordMerger::join(MergingWord& word) const noexcept {
  const auto place = static_cast<std::uint8_t>(word.least & ((1 << kPlaceBits) - 1));
  const std::uint8_t right = word.next[place];
  const std::uint8_t behind = word.next[right];
  word.ids[place] = model_.merged[static_cast<std::uint32_t>(word.least) >> kPlaceBits];
  word.next[place] = behind;
  word.pairs[place] = word.pairs[right] = kNoPair;
  if (behind < word.size) {
    word.previous[behind] = place;
    word.right = place;
    model_.pairs.fetch(word.ids[place], word.ids[behind]);
  }
  if (place > 0) {
    word.left = word.previous[place];
    model_.pairs.fetch(word.ids[word.left], word.ids[place]);
  }
}

inline std::size_t WordMerger::finish(MergingWord& word) const noexcept {
  std::size_t tokens = 0;
  for (std::uint8_t i = 0; i < word.size; i = word.next[i]) word.ids[tokens++] = word.ids[i];
  return tokens;
}

template <class Next, class Done>
void WordMerger::merge(const Next& next, const Done& done) {
  const auto fill = [&](MergingWord& word) {
    std::string_view pretoken;
    word.number = next(pretoken);
    if (word.number < 0) return false;
    begin(word, pretoken);
    return true;
  };
  std::size_t open = 0;
  while (open < kTogether && fill(words_[open])) ++open;
  while (open > 0) {
    for (std::size_t i = 0; i < open; ++i) choose(words_[i]);
    for (std::size_t i = 0; i < open;) {
      MergingWord& word = words_[i];
      if (word.least != kNoPair) {
        join(word);
        ++i;
        continue;
      }
      const std::size_t tokens = finish(word);
      done(word.number, word.ids.data(), tokens);
      if (fill(word)) {
        choose(word);
      } else if (i != --open) {
        word = words_[open];
      }
    }
  }
}

}  // namespace drapps::text
