// One picture on its way to its row, pixel by pixel: what it is called with, and each place of it at each stage.
//
// 1. Moves without a resize go along one dimension at a time, and map each place of what comes out to one place of what
//    went in, or to a border.
// 2. A resize is kernel/resize.h's: two passes over integer weights (kernel/resize_plan.h) with bytes in between. The
//    weights are made on the host, so whose arithmetic they follow is nothing that the kernel knows. The nearest
//    neighbour is one tap of full weight.
// 3. Colours change behind the resize, among the moves that follow it. Each change is of a pixel by itself (colors.h),
//    given the mean of the whole picture that a contrast blends with (contrast.h).
// 4. A resize of what was resized before, or of changed colours, reads a picture that is kept: a launch of its own
//    makes that (keep.h), and what follows begins with it.
#pragma once

#include <cstdint>

#include "drapps/device/kernel/colors.h"

namespace drapps::device {

/// Along one dimension: place i of what comes out was place start + step * i of `length` ones. step is 1 or -1.
struct AxisMove {
  std::int32_t start = 0;
  std::int32_t step = 1;
  std::int32_t length = 0;
};

/// What stands where an AxisMove leaves the `length` places: kernel::PadMode.
enum class Border : std::int32_t { kFill, kEdge, kReflect, kSymmetric };

/// A crop or a flip of a picture.
struct PictureMove {
  AxisMove axes[2];  // down, across
  Border border = Border::kFill;
  std::uint8_t fill[4] = {};  // per channel
};

/// One dimension of a resize.
struct ResizeAxis {
  std::int32_t plan = -1;  // where in AugmentArguments::plans stand first[out], count[out], weights[out][stride]; or
                           // -1: the dimension stays
  std::int32_t out = 0;
  std::int32_t stride = 0;
};

/// A rectangle of a finished row that is overwritten (batch/erase.h).
struct PictureErasure {
  std::int32_t top = 0, left = 0, height = 0, width = 0;
  std::uint64_t levels[4] = {};  // elements, of each channel
  std::uint64_t key = 0;         // of the normal deviates
  std::int32_t deviates = 0;     // one for each element stands there, and not its channel's level
};

/// What is done with one picture.
struct PictureWork {
  std::int64_t picture = 0;            // bytes from AugmentArguments::pictures, or of one that is kept from
                                       // AugmentArguments::kept, to its first pixel
  std::int32_t moves = 0;              // number of its first in AugmentArguments::moves
  std::int32_t before = 0;             // so many before the resize, in the order in which they are made
  std::int32_t after = 0;              // moves behind the resize
  std::int32_t vertical_first = 0;     // of two passes
  ResizeAxis axes[2];                  // down, across
  std::int32_t first_color = 0;        // number of its first in AugmentArguments::colors
  std::int32_t colors = 0;             // in the order in which they change; all behind the resize
  std::int32_t first_erasure = 0;      // number of its first in AugmentArguments::erasures
  std::int32_t erasures = 0;           // in the order in which they happen
  std::int32_t rows = 0, columns = 0;  // of a picture that is kept, whose planes lie one after another; 0: it is none
  std::int32_t channels = 0;           // of such a picture, or 0: as many as the launch's pictures
  std::int32_t made_channels = 0;      // of a picture that is made to be kept, or 0: as many as the launch's pictures
  std::int32_t made_rows = 0, made_columns = 0;
  std::int64_t offset = 0;  // bytes from AugmentArguments::kept to it; or of a finished row, from AugmentArguments::out
};

/// What a float becomes that stands in a row.
enum class Number : std::int32_t { kWhole, kFloat32, kBfloat16, kFloat16 };

struct AugmentArguments {
  const std::uint8_t* pictures = nullptr;
  std::int64_t channel_stride = 0, row_stride = 0, pixel_stride = 0;  // bytes
  std::int32_t picture_channels = 0;
  std::int32_t contrasts = 0;         // of the picture that has most
  const PictureWork* work = nullptr;  // one for each picture
  const PictureMove* moves = nullptr;
  const PictureColor* colors = nullptr;
  const PictureErasure* erasures = nullptr;
  const std::int32_t* plans = nullptr;
  const std::uint8_t* means = nullptr;  // [pictures][contrasts]: what each blends with
  std::uint8_t* kept = nullptr;         // pictures between two resizes
  const void* table = nullptr;          // [channels][256] elements: what each byte becomes
  std::uint8_t* out = nullptr;          // rows
  std::int32_t element_bytes = 1;       // 1, 2, 4 or 8
  Number number = Number::kWhole;       // that an element is
  std::int32_t interleaved = 0;         // height, width, channels; else channels, height, width
  std::int32_t channels = 0, height = 0, width = 0;
};

/// Where place `i` lies in `length` places, for a border that is made of them.
constexpr std::int32_t inside(std::int32_t i, std::int32_t length, Border border) {
  if (border == Border::kEdge) return i < 0 ? 0 : length - 1;
  if (border == Border::kReflect && length == 1) return 0;
  const std::int32_t period = border == Border::kReflect ? 2 * (length - 1) : 2 * length;
  const std::int32_t phase = (i % period + period) % period;
  if (phase < length) return phase;
  return border == Border::kReflect ? period - phase : period - 1 - phase;
}

/// Where place `i` behind `count` moves was before them; or -1 - m, where the fill of move m stands there.
inline std::int32_t place_before(const PictureMove* moves, std::int32_t count, std::int32_t axis, std::int32_t i) {
  for (std::int32_t m = count; m-- > 0;) {
    const AxisMove move = moves[m].axes[axis];
    i = move.start + move.step * i;
    if (i >= 0 && i < move.length) continue;
    if (moves[m].border == Border::kFill) return -1 - m;
    i = inside(i, move.length, moves[m].border);
  }
  return i;
}

/// The later of two moves that filled a pixel, as place_before() gave them; or neither, which is 0 or more.
constexpr std::int32_t filled(std::int32_t y, std::int32_t x) { return y < x ? y : x; }

/// One picture at the stages of its way. `a` and `b` are places along the dimension of the first pass and of the other.
class PictureStages {
 public:
  /// The finished picture.
  PictureStages(const AugmentArguments& arguments, std::int32_t picture)
      : a_(arguments),
        work_(arguments.work[picture]),
        moves_(arguments.moves + work_.moves),
        changes_(arguments.colors + work_.first_color),
        means_(arguments.means + static_cast<std::int64_t>(picture) * arguments.contrasts),
        after_(work_.after),
        colors_(work_.colors),
        sides_{arguments.height, arguments.width} {}

  /// The picture whose mean its contrast number `round` blends with; an empty one where it has none.
  static PictureStages before_contrast(const AugmentArguments& arguments, std::int32_t picture, std::int32_t round) {
    PictureStages stages(arguments, picture);
    stages.sides_[0] = stages.sides_[1] = 0;
    for (std::int32_t i = 0; i < stages.work_.colors; ++i) {
      const PictureColor& color = stages.changes_[i];
      if (color.change != Change::kContrast || round-- > 0) continue;
      stages.after_ = color.behind;
      stages.colors_ = i;
      stages.sides_[0] = color.height;
      stages.sides_[1] = color.width;
      break;
    }
    return stages;
  }

  /// Its height, or its width.
  std::int32_t side(std::int32_t axis) const { return sides_[axis]; }

  /// The picture that is made to be kept.
  static PictureStages to_keep(const AugmentArguments& arguments, std::int32_t picture) {
    PictureStages stages(arguments, picture);
    stages.sides_[0] = stages.work_.made_rows;
    stages.sides_[1] = stages.work_.made_columns;
    return stages;
  }

  /// Channels of the picture that the stages begin with.
  std::int32_t channels() const { return work_.channels > 0 ? work_.channels : a_.picture_channels; }

  std::int32_t first_axis() const { return work_.vertical_first != 0 ? 0 : 1; }
  bool has_two_passes() const { return work_.axes[0].plan >= 0 && work_.axes[1].plan >= 0; }

  /// The place in the resized picture of a place in the finished one; or the move that filled it, as place_before().
  std::int32_t resized_place(std::int32_t axis, std::int32_t i) const {
    return place_before(moves_ + work_.before, after_, axis, i);
  }
  std::uint8_t fill(std::int32_t channel, std::int32_t place) const {
    return moves_[work_.before - 1 - place].fill[channel];
  }

  /// The lines that the second pass reads for place `b`.
  std::int32_t first_line(std::int32_t b) const { return numbers(second())[b]; }
  std::int32_t lines(std::int32_t b) const { return numbers(second())[second().out + b]; }

  /// What the first pass makes, in line `b` of what goes into it.
  std::uint8_t once(std::int32_t channel, std::int32_t a, std::int32_t b) const {
    const std::int32_t axis = first_axis();
    const std::int32_t other = place_before(moves_, work_.before, 1 - axis, b);
    const ResizeAxis& pass = work_.axes[axis];
    if (pass.plan < 0) return level(channel, place_before(moves_, work_.before, axis, a), other);
    const std::int32_t first = numbers(pass)[a];
    const std::int32_t count = numbers(pass)[pass.out + a];
    const std::int32_t* weights = numbers(pass) + 2 * pass.out + a * pass.stride;
    std::int32_t sum = kHalf;
    for (std::int32_t t = 0; t < count; ++t) {
      sum += level(channel, place_before(moves_, work_.before, axis, first + t), other) * weights[t];
    }
    return clipped(sum);
  }

  /// What the second pass makes of the first: of `between`, its lines from `low` on, `step` bytes apart; or computed
  /// anew, where that is null.
  std::uint8_t twice(std::int32_t channel, std::int32_t a, std::int32_t b, const std::uint8_t* between,
                     std::int32_t low, std::int32_t step) const {
    if (second().plan < 0) return once(channel, a, b);
    const std::int32_t first = first_line(b);
    const std::int32_t count = lines(b);
    const std::int32_t* weights = numbers(second()) + 2 * second().out + b * second().stride;
    std::int32_t sum = kHalf;
    for (std::int32_t t = 0; t < count; ++t) {
      const std::int32_t line = first + t;
      sum += (between != nullptr ? between[(line - low) * step] : once(channel, a, line)) * weights[t];
    }
    return clipped(sum);
  }

  /// What colours become of a pixel that came through the resize, or from the move that filled it.
  void change_colors(Pixel& pixel, std::int32_t place) const {
    const std::int32_t seen = place < 0 ? -place : 0;  // moves behind which its colours change
    std::int32_t contrast = 0;
    for (std::int32_t i = 0; i < colors_; ++i) {
      const PictureColor& color = changes_[i];
      const std::int32_t mean = color.change == Change::kContrast ? means_[contrast++] : 0;
      if (color.behind >= seen) {
        change(pixel, color, mean);
      } else if (color.change == Change::kGrayscale) {
        pixel.channels = color.number;
      }
    }
  }

 private:
  static constexpr int kWeightBits = 22;
  static constexpr std::int32_t kHalf = 1 << (kWeightBits - 1);

  static constexpr std::uint8_t clipped(std::int32_t sum) {
    sum >>= kWeightBits;
    return static_cast<std::uint8_t>(sum < 0 ? 0 : sum > 255 ? 255 : sum);
  }

  const ResizeAxis& second() const { return work_.axes[1 - first_axis()]; }
  const std::int32_t* numbers(const ResizeAxis& axis) const { return a_.plans + axis.plan; }

  /// A level of the picture before the resize; `along` is a place on the dimension of the first pass.
  std::uint8_t level(std::int32_t channel, std::int32_t along, std::int32_t other) const {
    const std::int32_t y = first_axis() == 0 ? along : other;
    const std::int32_t x = first_axis() == 0 ? other : along;
    const std::int32_t move = filled(y, x);
    if (move < 0) return moves_[-1 - move].fill[channel];
    if (work_.rows > 0) {
      return a_.kept[work_.picture + (static_cast<std::int64_t>(channel) * work_.rows + y) * work_.columns + x];
    }
    return a_.pictures[work_.picture + channel * a_.channel_stride + y * a_.row_stride + x * a_.pixel_stride];
  }

  const AugmentArguments& a_;
  const PictureWork& work_;
  const PictureMove* moves_;
  const PictureColor* changes_;
  const std::uint8_t* means_;
  std::int32_t after_, colors_;  // moves behind the resize, and changes of colours, that are made
  std::int32_t sides_[2];
};

}  // namespace drapps::device
