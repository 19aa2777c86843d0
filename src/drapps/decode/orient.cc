#include "drapps/decode/orient.h"

#include <algorithm>
#include <cstddef>

namespace drapps {
namespace {

// An orientation is an exchange of rows and columns, or not, and then a mirroring of the stored rows and columns.
struct OrientationTurn {
  bool transposed, mirrored_rows, mirrored_columns;
};

constexpr OrientationTurn turn_of(std::uint8_t orientation) {
  constexpr OrientationTurn kTurns[9] = {{},
                                         {false, false, false},
                                         {false, false, true},  // FLIP_LEFT_RIGHT
                                         {false, true, true},   // ROTATE_180
                                         {false, true, false},  // FLIP_TOP_BOTTOM
                                         {true, false, false},  // TRANSPOSE
                                         {true, true, false},   // ROTATE_270
                                         {true, true, true},    // TRANSVERSE
                                         {true, false, true}};  // ROTATE_90
  return kTurns[orientation];
}

}  // namespace

Rect stored_region(const Rect& region, const Extent& stored, std::uint8_t orientation) noexcept {
  const OrientationTurn turn = turn_of(orientation);
  Rect rect = region;
  if (turn.transposed) rect = {region.left, region.top, region.width, region.height};
  if (turn.mirrored_rows) rect.top = stored.height - rect.top - rect.height;
  if (turn.mirrored_columns) rect.left = stored.width - rect.left - rect.width;
  return rect;
}

void orient(const ImageView& out, const ConstImageView& in, std::uint8_t orientation) noexcept {
  const OrientationTurn turn = turn_of(orientation);
  const std::ptrdiff_t row_step = turn.mirrored_rows ? -in.row_stride : in.row_stride;
  const std::ptrdiff_t column_step = turn.mirrored_columns ? -1 : 1;
  const std::ptrdiff_t along = turn.transposed ? row_step : column_step;  // from one pixel of an output row to the next
  const std::ptrdiff_t across = turn.transposed ? column_step : row_step;  // from one output row to the next
  constexpr std::int32_t kTile = 64;                                       // so that a transposed tile stays in L1
  for (std::int32_t channel = 0; channel < in.channels; ++channel) {
    const std::uint8_t* first =
        in.row(channel, turn.mirrored_rows ? in.height - 1 : 0) + (turn.mirrored_columns ? in.width - 1 : 0);
    for (std::int32_t y0 = 0; y0 < out.height; y0 += kTile) {
      for (std::int32_t x0 = 0; x0 < out.width; x0 += kTile) {
        for (std::int32_t y = y0; y < std::min(out.height, y0 + kTile); ++y) {
          std::uint8_t* row = out.row(channel, y);
          for (std::int32_t x = x0; x < std::min(out.width, x0 + kTile); ++x) row[x] = first[y * across + x * along];
        }
      }
    }
  }
}

}  // namespace drapps
