// Cutting text into pretokens, many at a time.
#pragma once

#include <cstddef>
#include <cstdint>

#include "drapps/kernel/level.h"
#include "drapps/text/pretokenize/pattern.h"

namespace drapps::text {

/// Writes where pretokens end, counted from `text`, ascending, at least one and at most `capacity`; returns their
/// number. A call that begins at the last of these goes on. Requires 0 < size < 2^31, valid UTF-8, and that a pretoken
/// begins at `text`; `size` reaches to the end of the text, since what follows a pretoken decides where it ends.
using Cut = std::size_t (*)(const std::uint8_t* text, std::size_t size, std::uint32_t* ends,
                            std::size_t capacity) noexcept;

/// Room for the ends that one step of a level may bring; the least `capacity`.
inline constexpr std::size_t kCutStep = 64;

/// The Cut of a pattern, which writes the same ends at every level.
Cut cut_of(Pattern pattern, kernel::Level level = kernel::active_level()) noexcept;

}  // namespace drapps::text
