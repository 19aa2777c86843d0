// The loop of merge_words.h, for what merges one pretoken at a level.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "drapps/text/bpe/merge_words.h"

namespace drapps::text {

/// What is the least where no pair merges.
inline constexpr std::int32_t kNoMerge = 0x7FFF'FFFF;

/// Merges those of the words that `takes` (word) says, kTogether at once.
/// @tparam Word  begin(model, bytes); then choose(model), which sets `least`, and join(model) while that is not
///     kNoMerge; then finish(merged). What one of these fetches, the next one looks at.
template <class Word, std::size_t kTogether, class Takes>
void merge_in_turns(const BpeModel& model, std::span<const std::string_view> words, MergedWord* merged,
                    const Takes& takes) noexcept {
  Word open[kTogether];
  std::size_t at = 0;
  const auto fill = [&](Word& word) {
    while (at < words.size() && !takes(words[at])) ++at;
    if (at == words.size()) return false;
    word.number = at;
    word.begin(model, words[at++]);
    return true;
  };
  std::size_t size = 0;
  while (size < kTogether && fill(open[size])) ++size;
  while (size > 0) {
    for (std::size_t i = 0; i < size; ++i) open[i].choose(model);
    for (std::size_t i = 0; i < size;) {
      Word& word = open[i];
      if (word.least != kNoMerge) {
        word.join(model);
        ++i;
        continue;
      }
      word.finish(merged[word.number]);
      if (fill(word)) {
        word.choose(model);
      } else if (i != --size) {
        word = open[size];
      }
    }
  }
}

}  // namespace drapps::text
