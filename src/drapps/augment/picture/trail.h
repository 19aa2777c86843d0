// What ops do to a picture, written down instead of done, for who does it elsewhere.
//
// Ops that only move pixels (moves_only() of ops.h) make nothing but crops, resizes and flips, by the functions of
// moves.h. With OpContext::trail these note what they are asked for and touch no pixel, so that sizes and draws, which
// are all that ops decide by, stay those of the ops themselves.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "drapps/data/image.h"
#include "drapps/data/picture.h"
#include "drapps/kernel/planes.h"
#include "drapps/kernel/resize.h"

namespace drapps {

/// One move, of a picture of `before`.
struct TrailMove {
  enum class Kind : std::uint8_t {
    kCrop,            // to `rect`, which may leave the picture: a border stands there
    kResize,          // to `after`
    kFlipHorizontal,  // left and right change places
    kFlipVertical,
  };
  Kind kind = Kind::kCrop;
  Extent before;
  Extent after;
  Rect rect;                           // of a crop, in pixels of the picture
  kernel::PadMode border{};            // of a crop
  std::array<std::uint8_t, 4> fill{};  // per channel, of a constant border
  bool nearest = false;                // of a resize: by the nearest neighbour, as Pillow does it; or
  kernel::Filter filter{};             // by this one
  kernel::PassOrder order{};           // of a resize
  kernel::Arithmetic arithmetic{};     // of a resize
};

/// In the order in which they are made.
using Trail = std::vector<TrailMove>;

}  // namespace drapps
