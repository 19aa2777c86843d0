// What ops do to a picture, written down instead of done, for who does it elsewhere.
//
// Given OpContext::trail, ops note what they are asked for and touch no pixel, so that sizes and draws, which are all
// that ops decide by, stay those of the ops themselves. All moves of pixels are made by the functions of moves.h, which
// note them; ops that change colours note each change.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "drapps/data/image.h"
#include "drapps/data/picture.h"
#include "drapps/kernel/planes.h"
#include "drapps/kernel/resize.h"

namespace drapps {

/// One move, or one change of colours, of a picture of `before`.
struct TrailStep {
  enum class Kind : std::uint8_t {
    kCrop,            // to `rect`, which may leave the picture: a border stands there
    kResize,          // to `after`
    kFlipHorizontal,  // left and right change places
    kFlipVertical,
    kBrightness,  // by `factor`, as kernel/color.h has it; so are the next three
    kContrast,
    kSaturation,
    kHue,
    kGrayscale,  // in `channels`
  };
  Kind kind = Kind::kCrop;
  Extent before;
  Extent after;
  Rect rect;                           // of a crop, in pixels of the picture
  kernel::PadMode border{};            // of a crop
  std::array<std::uint8_t, 4> fill{};  // per channel, of a constant border
  bool nearest = false;                // of a resize: by the nearest neighbour, as Pillow does it
  kernel::Filter filter{};             // of a resize that is not by the nearest neighbour
  kernel::PassOrder order{};           // of a resize
  kernel::Arithmetic arithmetic{};     // of a resize
  double factor = 1;                   // of a change of colours; of the hue, turns
  std::int32_t channels = 0;           // that kGrayscale leaves
};

struct Trail {
  std::vector<TrailStep> steps;   // in the order in which they are made
  std::vector<Erasure> erasures;  // of the finished row, behind all steps

  void clear() noexcept {
    steps.clear();
    erasures.clear();
  }
};

}  // namespace drapps
