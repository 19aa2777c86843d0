#include "drapps/text/pretokenize/match.h"
#include "drapps/text/pretokenize/scan.h"

namespace drapps::text {

const std::uint8_t* match_gpt2(Place text, Place end) noexcept {
  const std::uint8_t* const table = class_table();
  const Place contracted = skip_contraction<false>(text, end);
  if (contracted != text) return contracted;

  Place word = text;
  Char first = char_at(table, word);
  if (*text == ' ' && text + 1 < end) {
    const Char second = char_at(table, text + 1);
    if (second.major() != kSpace) {
      word = text + 1;
      first = second;
    }
  }
  if (first.major() != kSpace) return skip_major(table, word + first.size, end, first.major());
  return spaces_before_word(space_run(table, text, end), text, end);
}

}  // namespace drapps::text
