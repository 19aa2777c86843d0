// The Unicode classes that the patterns of tokenizers ask for, as Unicode 16.0 has them.
//
// The table is swept from the regular expressions of the oracles themselves (tools/unicode_classes.py), which agree on
// every code point.
#pragma once

#include <cstdint>
#include <span>

namespace drapps::text {

/// Bits of a code point's class. What has none of the first three is "other".
enum CharClass : std::uint8_t {
  kLetter = 1,        // \p{L}
  kNumber = 2,        // \p{N}
  kSpace = 4,         // \s
  kMark = 8,          // \p{M}
  kUpper = 16,        // [\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]
  kLower = 32,        // [\p{Ll}\p{Lm}\p{Lo}\p{M}]
  kPunctuation = 64,  // [\p{P}\p{S}]
  kMajor = 7,         // the mask of the first three
};

/// One class byte for each code point up to 0x10FFFF. Made at the first call.
const std::uint8_t* class_table() noexcept;

/// Where the class changes: code point << 8 | class, ascending, beginning with code point 0.
extern const std::span<const std::uint32_t> kClassRuns;

}  // namespace drapps::text
