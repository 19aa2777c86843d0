// Pictures in somebody else's memory, as planes.
#pragma once

#include <cstdint>
#include <span>

#include "drapps/base/result.h"
#include "drapps/data/array.h"
#include "drapps/data/image.h"

namespace drapps::kernel {

/// The picture whose first pixel is memory[0]: where it lies if it can be used there, else copied into `copy`. A view
/// of `memory` is not to be written to. kResourceExhausted as Buffer::ensure.
/// @param memory  from the first pixel to the last readable byte, which may lie behind the picture.
Result<ImageView> planes_of(const PixelLayout& layout, std::span<const std::uint8_t> memory, ImageBuffer& copy);

/// The picture of planes_of() with the rows of each plane joined to one: 1 x (height · width), for where only the order
/// of the pixels matters.
Result<ImageView> lines_of(const PixelLayout& layout, std::span<const std::uint8_t> memory, ImageBuffer& copy);

}  // namespace drapps::kernel
