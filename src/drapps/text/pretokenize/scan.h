// Runs of characters of one class in valid UTF-8: what the matchers are made of.
#pragma once

#include <cstdint>

#include "drapps/text/unicode/classes.h"
#include "drapps/text/unicode/utf8.h"

namespace drapps::text {

/// A character's class and the bytes it takes.
struct Char {
  std::uint8_t kind;
  std::uint32_t size;
  std::uint8_t major() const noexcept { return kind & kMajor; }
};

inline Char char_at(const std::uint8_t* table, Place p) noexcept {
  const CodePoint point = decode_utf8(p);
  return {table[point.value], point.size};
}

/// Past the run of characters with exactly these of the three major bits.
inline Place skip_major(const std::uint8_t* table, Place p, Place end, std::uint8_t major) noexcept {
  while (p < end) {
    const Char next = char_at(table, p);
    if (next.major() != major) break;
    p += next.size;
  }
  return p;
}

/// Past a run of numbers, or past so many of them.
inline Place skip_numbers(const std::uint8_t* table, Place p, Place end, int most) noexcept {
  for (int i = 0; i < most && p < end; ++i) {
    const Char next = char_at(table, p);
    if (next.major() != kNumber) break;
    p += next.size;
  }
  return p;
}

/// Past the run of characters with any of these bits.
inline Place skip_any(const std::uint8_t* table, Place p, Place end, std::uint8_t bits) noexcept {
  while (p < end) {
    const Char next = char_at(table, p);
    if (!(next.kind & bits)) break;
    p += next.size;
  }
  return p;
}

inline bool is_newline(std::uint8_t byte) noexcept { return byte == '\n' || byte == '\r'; }

/// Past a contraction ('s 't 're 've 'm 'll 'd) that begins at `p`, or `p`. Without regard to case, where \u017F is an
/// s too, or in small letters only.
template <bool kAnyCase>
Place skip_contraction(Place p, Place end) noexcept {
  if (end - p < 2 || *p != '\'') return p;
  constexpr std::uint8_t kFold = kAnyCase ? 0x20 : 0;
  const std::uint8_t first = p[1] | kFold;
  if (first == 's' || first == 't' || first == 'm' || first == 'd') return p + 2;
  if (end - p < 3) return p;
  const std::uint8_t second = p[2] | kFold;
  if ((first == 'r' || first == 'v') && second == 'e') return p + 3;
  if (first == 'l' && second == 'l') return p + 3;
  if (kAnyCase && p[1] == 0xC5 && p[2] == 0xBF) return p + 3;
  return p;
}

/// A run of white space: its end, its last character, and the place behind its last newline (null without one).
struct SpaceRun {
  Place end;
  Place last;
  Place behind_newline;
};

inline SpaceRun space_run(const std::uint8_t* table, Place p, Place end) noexcept {
  SpaceRun run{p, p, nullptr};
  while (run.end < end) {
    const Char next = char_at(table, run.end);
    if (next.major() != kSpace) break;
    run.last = run.end;
    run.end += next.size;
    if (is_newline(*run.last)) run.behind_newline = run.end;
  }
  return run;
}

/// What \s+(?!\S)|\s+ takes of the run that begins at `p`: all before its last character, which goes with what follows.
inline Place spaces_before_word(const SpaceRun& run, Place p, Place end) noexcept {
  return run.end == end || run.last == p ? run.end : run.last;
}

}  // namespace drapps::text
