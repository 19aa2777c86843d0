// EXIF orientations: where a pixel of the upright picture lies in the stored one.
#pragma once

#include <cstdint>

#include "drapps/data/image.h"
#include "drapps/data/picture.h"

namespace drapps {

/// The rectangle of the stored picture that becomes `region` of the upright one.
/// @param stored extent of the stored picture; `orientation` 1..8.
Rect stored_region(const Rect& region, const Extent& stored, std::uint8_t orientation) noexcept;

/// Turns `in` upright into `out`, which has its extent, height and width exchanged from orientation 5 on.
void orient(const ImageView& out, const ConstImageView& in, std::uint8_t orientation) noexcept;

}  // namespace drapps
