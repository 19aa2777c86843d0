// One record on its way from the decoder to its row of a batch.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "drapps/data/image.h"

namespace drapps {

/// A box in pixels of the picture it belongs to, edges at x0 <= x < x1, y0 <= y < y1.
struct Box {
  float x0 = 0, y0 = 0, x1 = 0, y1 = 0;
  bool operator==(const Box&) const = default;
};

/// A rectangle of the finished row that is overwritten after normalising (RandomErasing).
struct Erasure {
  enum class Fill : std::uint8_t { kConstant, kNormalPerChannel, kNormalPerPixel };
  Rect rect;
  Fill fill = Fill::kConstant;
  std::array<float, 4> value{};  // per channel, in the units of the finished row; for kConstant
  std::uint64_t key = 0;         // that the normal deviates are drawn with, for fills but kConstant
};

/// Height and width of a whole picture.
struct Extent {
  std::int32_t height = 0;
  std::int32_t width = 0;
  bool operator==(const Extent&) const = default;
};

/// `image`, `mask` and `boxes` always describe the same picture: an op moves them together.
///
/// Straight after decoding, `image` (and `mask`) may hold only the part of the picture that the
/// first op asked for: `window` then lies inside `extent`. From the first op on, the window is the
/// whole extent.
struct Picture {
  ImageView image;                     // uint8 planes
  std::optional<ImageView> mask;       // one plane of class ids
  std::vector<Box> boxes;              // reused: cleared, never shrunk
  std::vector<std::int32_t> box_rows;  // which of the record's boxes each of `boxes` is; ops that drop a box drop both
  Extent extent;
  Rect window;
  bool mirrored = false;          // left and right of `image` are to change places when its row is written
  std::vector<Erasure> erasures;  // in the order they happen; reused: cleared, never shrunk
};

}  // namespace drapps
