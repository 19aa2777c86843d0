// RandomErasing's second half: a rectangle of a finished row is overwritten.
//
// The normal deviates of an erasure are part of the documented format of a stream. They are exact::normal of one
// word per element, element x of the rectangle's row y in channel c being word x of
//     Draws({.seed = erasure.key, .epoch = y, .position = c}, 0)
// kNormalPerChannel takes word 0 of row 0 for the whole rectangle. Deviates and values are rounded to float32 and
// then to the row's dtype: bfloat16 and float16 to nearest, ties to even; integers too, after clipping to 0 … 255.
#pragma once

#include <cstddef>
#include <cstdint>

#include "drapps/data/picture.h"
#include "drapps/kernel/normalize.h"

namespace drapps {

/// The bits of the element that stands everywhere in a channel of the rectangle; not for kNormalPerPixel.
std::uint64_t erased_level(Dtype dtype, const Erasure& erasure, std::int32_t channel) noexcept;

/// Overwrites erasure.rect, which lies within `extent`, of a row that holds `channels` (1 … 4) planes of `extent`.
void erase(std::byte* row, kernel::RowFormat format, std::int32_t channels, Extent extent,
           const Erasure& erasure) noexcept;

}  // namespace drapps
