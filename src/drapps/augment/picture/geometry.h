// Which rectangle, which size: the geometry of the ops, as pure functions on sizes and drawn numbers.
//
// The formulas and their rounding are torchvision's (0.28; `transforms.functional` and the `get_params` of the
// transforms), so that a lifted transform reads the same rectangles with the same probabilities. Python's round()
// takes halves to the even neighbour, int() cuts towards zero.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "drapps/base/philox.h"
#include "drapps/base/torch_numbers.h"
#include "drapps/data/image.h"
#include "drapps/data/picture.h"

namespace drapps::geometry {

using Range = std::array<double, 2>;

/// The whole of a picture as a rectangle.
constexpr Rect whole_rect(Extent extent) noexcept { return {0, 0, extent.height, extent.width}; }
/// Whether `inner` lies within `outer`.
constexpr bool contains(const Rect& outer, const Rect& inner) noexcept {
  return inner.top >= outer.top && inner.left >= outer.left && inner.top + inner.height <= outer.top + outer.height &&
         inner.left + inner.width <= outer.left + outer.width;
}
/// What two rectangles share; height and width 0 where that is nothing.
Rect intersection(const Rect& a, const Rect& b) noexcept;

/// round() of Python: to the nearest integer, halves to the even one.
double round_half_even(double x) noexcept;

/// The size a picture is resized to when only one side is given: `short_side` > 0 is the new length of the shorter
/// side and `max_size` > 0 the most the longer may get; with `short_side` 0, `max_size` is the new length of the
/// longer side. A side can come out as 0 for extreme shapes. Lengths above 2^30 are cut to 2^30.
Extent resized_extent(Extent whole, std::int32_t short_side, std::int32_t max_size) noexcept;

/// Where the middle is when what is left over is odd: torchvision takes halves to the even neighbour, TensorFlow down.
enum class Rounding : std::uint8_t { kHalfEven, kDown };

/// Where a central crop of `crop` lies in a picture. Along an axis on which the picture is smaller the rectangle
/// sticks out on both sides, by one more at its end where that is uneven, in either rounding.
Rect central_rect(Extent whole, Extent crop, Rounding rounding = Rounding::kHalfEven) noexcept;

/// The rectangle of RandomResizedCrop, `whole` not empty, 0 < scale low <= high, 0 < ratio low <= high.
/// Draws, up to ten times: area (1 word), log of the aspect ratio (1 word); where the rectangle fits, top (2 words)
/// and left (2 words). After ten misses the central crop of the nearest allowed ratio.
Rect random_resized_rect(Extent whole, const Range& scale, const Range& ratio, Draws& draws) noexcept;

/// The rectangle of RandomResizedCrop as torchvision itself draws it from torch's generator, of a picture of at most
/// 2^20 rows and columns.
/// Nothing, and numbers that are of no use then, where only torch can tell, or where torchvision's is empty.
/// @param log_ratio the logarithms of `ratio` as torch rounds them
std::optional<Rect> torch_resized_rect(Extent whole, const Range& scale, const Range& log_ratio, const Range& ratio,
                                       TorchNumbers& numbers) noexcept;

/// The rectangle of one erasure of RandomErasing, with the area `scale` times `share` of the picture's.
/// Draws as random_resized_rect; it fits where it is smaller than the picture along both axes. Nothing is
/// erased after ten misses. The rectangle may be empty.
std::optional<Rect> random_erased_rect(Extent whole, const Range& scale, const Range& ratio, double share,
                                       Draws& draws) noexcept;

/// A crop of `crop` at a random place of a picture that is at least as large.
/// Draws: top (2 words), left (2 words), in any case.
Rect random_rect(Extent whole, Extent crop, Draws& draws) noexcept;

}  // namespace drapps::geometry
