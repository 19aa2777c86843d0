#include "drapps/text/pretokenize/match.h"
#include "drapps/text/pretokenize/scan.h"

namespace drapps::text {
namespace {

/// A character, and whether it is one of [一-龥぀-ゟ゠-ヿ].
struct SplitChar {
  Char is;
  bool han;
};

/// Three expressions, each applied to the pieces of the one before: numbers, Han and kana, and the rest. So no pretoken
/// has characters of two of these, and what follows a piece is the end of the text to it.
class SplitPiece {
 public:
  /// The piece that goes on at `text`, which is no number.
  SplitPiece(Place text, Place end) noexcept : end_(end), han_(split_at(text).han) {}

  SplitChar split_at(Place p) const noexcept {
    const CodePoint point = decode_utf8(p);
    const bool han =
        (0x4E00 <= point.value && point.value <= 0x9FA5) || (0x3040 <= point.value && point.value <= 0x30FF);
    return {{table_[point.value], point.size}, han};
  }
  bool han() const noexcept { return han_; }
  /// Whether the piece has ended at `p`.
  bool ended(Place p) const noexcept {
    if (p == end_) return true;
    const SplitChar next = split_at(p);
    return next.han != han_ || (next.is.kind & kNumber) != 0;
  }
  /// Past the run of characters of the piece with any of these bits.
  Place skip(Place p, std::uint8_t bits) const noexcept {
    while (p < end_) {
      const SplitChar next = split_at(p);
      if (next.han != han_ || (next.is.kind & bits) == 0) break;
      p += next.is.size;
    }
    return p;
  }

 private:
  const std::uint8_t* const table_ = class_table();
  const Place end_;
  const bool han_;
};

constexpr std::uint8_t kWord = kLetter | kMark;

bool is_ascii_letter(std::uint8_t byte) noexcept {
  const int lower = byte | 0x20;
  return 'a' <= lower && lower <= 'z';
}

}  // namespace

const std::uint8_t* match_deepseek(Place text, Place end) noexcept {
  const std::uint8_t* const table = class_table();
  const Char first = char_at(table, text);
  const Place second = text + first.size;
  if (first.kind & kNumber) return skip_numbers(table, text, end, 3);
  const SplitPiece piece(text, end);
  if ((first.kind & kPunctuation) && *text < 0x80 && second < end && is_ascii_letter(*second)) {
    Place p = second + 1;
    while (p < end && is_ascii_letter(*p)) ++p;
    return p;
  }
  if (first.kind & kWord) return piece.skip(second, kWord);
  if (!(first.kind & kPunctuation) && !is_newline(*text)) {
    const Place word = piece.skip(second, kWord);
    if (word != second) return word;
  }
  const Place bare = *text == ' ' ? second : text;
  const Place punctuation = piece.skip(bare, kPunctuation);
  if (punctuation != bare) {
    Place p = punctuation;
    while (!piece.han() && p < end && is_newline(*p)) ++p;
    return p;
  }
  if (first.kind & kSpace) {
    const SpaceRun run = space_run(table, text, end);
    if (run.behind_newline != nullptr) return run.behind_newline;
    return piece.ended(run.end) ? run.end : spaces_before_word(run, text, end);
  }
  // Nothing matches here: what lies before the next match is a pretoken.
  Place p = second;
  while (!piece.ended(p)) {
    const Char next = char_at(table, p);
    if (next.kind & (kWord | kPunctuation | kSpace)) break;
    const Place behind = p + next.size;
    if (piece.skip(behind, kWord) != behind) break;
    p = behind;
  }
  return p;
}

}  // namespace drapps::text
