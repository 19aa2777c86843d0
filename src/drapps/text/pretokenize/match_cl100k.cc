#include "drapps/text/pretokenize/match.h"
#include "drapps/text/pretokenize/scan.h"

namespace drapps::text {
namespace {

/// @tparam kDigits  the most digits of a pretoken.
/// @tparam kTail  whether white space that ends the text is one pretoken, newlines or not.
template <int kDigits, bool kTail>
Place match(Place text, Place end) noexcept {
  const std::uint8_t* const table = class_table();
  const Place contracted = skip_contraction<true>(text, end);
  if (contracted != text) return contracted;

  const Char first = char_at(table, text);
  const Place second = text + first.size;
  if (first.major() == kLetter) return skip_major(table, second, end, kLetter);
  if (first.major() == kNumber) return skip_numbers(table, text, end, kDigits);
  if (second < end && !is_newline(*text)) {
    const Char next = char_at(table, second);
    if (next.major() == kLetter) return skip_major(table, second + next.size, end, kLetter);
  }
  const Place word = *text == ' ' ? second : text;
  const Place punctuation = skip_major(table, word, end, 0);
  if (punctuation != word) {
    Place p = punctuation;
    while (p < end && is_newline(*p)) ++p;
    return p;
  }
  const SpaceRun run = space_run(table, text, end);
  if (kTail && run.end == end) return end;
  if (run.behind_newline != nullptr) return run.behind_newline;
  return spaces_before_word(run, text, end);
}

}  // namespace

const std::uint8_t* match_cl100k(Place text, Place end) noexcept { return match<3, false>(text, end); }
const std::uint8_t* match_cl100k_tail(Place text, Place end) noexcept { return match<3, true>(text, end); }
const std::uint8_t* match_qwen2(Place text, Place end) noexcept { return match<1, false>(text, end); }

}  // namespace drapps::text
