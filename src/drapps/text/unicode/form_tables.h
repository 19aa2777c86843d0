// The normal forms of Unicode as `tokenizers` has them, swept by tools/unicode_forms.py. For normalize.cc.
#pragma once

#include <cstdint>
#include <span>

namespace drapps::text {

/// Where what the forms do changes: code point << 8 | bits, ascending, beginning with code point 0. Of the form number
/// f (Form, normalize.h) bit f says that it keeps the character wherever it stands, unless what follows composes with
/// it; bit 4 + f that nothing before the character has to do with it.
extern const std::span<const std::uint32_t> kFormRuns;

/// Where the combining class changes: code point << 8 | class.
extern const std::span<const std::uint32_t> kCombiningRuns;

/// Full decompositions: code point << 8 | kind << 7 | length, and so many code points; canonical ones (kind 0) first,
/// then those that differ for compatibility (kind 1). Ascending within each. Hangul is none of them.
extern const std::span<const std::uint32_t> kDecompositions;

/// Three words each: two code points, and what they compose to; ascending. Hangul is none of them.
extern const std::span<const std::uint32_t> kCompositions;

}  // namespace drapps::text
