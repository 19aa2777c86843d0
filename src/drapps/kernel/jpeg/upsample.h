// Rows of subsampled chroma at full resolution, bit for bit as libjpeg-turbo's smooth ("fancy") upsampling.
//
// A triangle filter: each output lies a quarter of an input sample off the nearest input, and is 3/4 of that one and
// 1/4 of the next nearest, in either direction that is subsampled. At the edges of the picture the outermost sample
// stands for the one beyond; the caller puts it there, so every function here is the same for all columns.
//
// Rows have any alignment. Up to kPadding bytes past the end of an input row may be read.
#pragma once

#include <cstddef>
#include <cstdint>

#include "drapps/kernel/level.h"

namespace drapps::kernel::jpeg {

/// Twice as wide: 2 * n outputs of in[-1] … in[n].
void upsample_across(std::uint8_t* out, const std::uint8_t* in, std::size_t n, Level level = active_level()) noexcept;

/// One of the two rows that `near` becomes where pictures get twice as high; `far` is its neighbour on that side.
/// @param below  whether that side is below: the two rows round differently.
void upsample_down(std::uint8_t* out, const std::uint8_t* near, const std::uint8_t* far, std::size_t n, bool below,
                   Level level = active_level()) noexcept;

/// upsample_across() and upsample_down() at once: 2 * n outputs of near[-1] … near[n] and far[-1] … far[n]. Not the
/// same as one after the other, which would round twice.
void upsample_both(std::uint8_t* out, const std::uint8_t* near, const std::uint8_t* far, std::size_t n,
                   Level level = active_level()) noexcept;

/// `factor` (2 or 4) copies of each of n samples: what libjpeg does where it has no filter.
void replicate(std::uint8_t* out, const std::uint8_t* in, std::size_t n, int factor) noexcept;

}  // namespace drapps::kernel::jpeg
