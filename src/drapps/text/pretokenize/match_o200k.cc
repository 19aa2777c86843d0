#include "drapps/text/pretokenize/match.h"
#include "drapps/text/pretokenize/scan.h"

namespace drapps::text {
namespace {

/// What [\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+ takes at `p`, or `p`; `capitals` becomes the end of
/// the first run. Letters without case, and marks, are of both classes: where no small letter follows, the first run
/// gives back what follows the last of them.
Place cased_word(const std::uint8_t* table, Place p, Place end, Place& capitals) noexcept {
  Place behind_both = p;
  Place q = p;
  while (q < end) {
    const Char next = char_at(table, q);
    if (!(next.kind & kUpper)) break;
    q += next.size;
    if (next.kind & kLower) behind_both = q;
  }
  capitals = q;
  const Place small = skip_any(table, q, end, kLower);
  return small != q ? small : behind_both;
}

/// o200k and its kin.
/// @tparam kDigits        at most so many digits together.
/// @tparam kContractions  whether words have them.
template <int kDigits, bool kContractions>
Place match_cased(Place text, Place end) noexcept {
  const std::uint8_t* const table = class_table();
  const Char first = char_at(table, text);
  const Place second = text + first.size;
  Place capitals = text;
  const auto past_word = [end](Place p) { return kContractions ? skip_contraction<true>(p, end) : p; };
  if (first.major() == kNumber) return skip_numbers(table, text, end, kDigits);
  const bool prefix = first.major() != kLetter && !is_newline(*text);
  const Place begin = prefix ? second : text;
  Place word = cased_word(table, begin, end, capitals);
  if (word != begin) return past_word(word);
  const Place only_capitals = capitals;
  if (first.kind & kMark) {  // it is no prefix then, but a word by itself
    word = cased_word(table, text, end, capitals);
    if (word != text) return past_word(word);
  }
  if (only_capitals != begin) return past_word(only_capitals);

  const Place bare = *text == ' ' ? second : text;
  const Place punctuation = skip_major(table, bare, end, 0);
  if (punctuation != bare) {
    Place p = punctuation;
    while (p < end && (is_newline(*p) || *p == '/')) ++p;
    return p;
  }
  const SpaceRun run = space_run(table, text, end);
  if (run.behind_newline != nullptr) return run.behind_newline;
  return spaces_before_word(run, text, end);
}

}  // namespace

const std::uint8_t* match_o200k(Place text, Place end) noexcept { return match_cased<3, true>(text, end); }
const std::uint8_t* match_tekken(Place text, Place end) noexcept { return match_cased<1, false>(text, end); }

}  // namespace drapps::text
