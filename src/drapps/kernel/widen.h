// Unsigned integers become int64, as batches of ids have them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "drapps/kernel/level.h"

namespace drapps::kernel {

/// out[i] = the integer of `width` bytes at in + i * width, for i < n, which need not be aligned. Returns the largest;
/// 0 where there is none. An integer of 8 bytes keeps its bits.
/// @param width  1, 2, 4 or 8
std::uint64_t widen(std::int64_t* out, const std::uint8_t* in, std::size_t width, std::size_t n,
                    Level level = active_level()) noexcept;

}  // namespace drapps::kernel
