// Pictures of bytes become rows of a batch in one launch: cropped, padded, flipped, resized, cropped and flipped once
// more, looked up in the table of numbers that normalises and casts, and laid out. A body: see body.h.
//
// 1. Moves without a resize go along one dimension at a time, and map each place of what comes out to one place of what
//    went in, or to a border.
// 2. A resize is kernel/resize.h's: two passes over integer weights (kernel/resize_plan.h) with bytes in between. The
//    weights are made on the host, so whose arithmetic they follow is nothing that the kernel knows. The nearest
//    neighbour is one tap of full weight.
// 3. A block makes a tile of one picture. What its first pass gives for all lines that the second one reads stands in
//    shared memory; where that is too small, the first pass is computed for each tap of the second.
//
// The bytes are those of the scalar reference, whatever the tiles.
#pragma once

#include <cstdint>

namespace drapps::device {

/// Along one dimension: place i of what comes out was place start + step * i of `length` ones. step is 1 or -1.
struct AxisMove {
  std::int32_t start = 0;
  std::int32_t step = 1;
  std::int32_t length = 0;
};

/// What stands where that leaves the `length` places: kernel::PadMode.
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

/// What is done with one picture.
struct PictureWork {
  std::int64_t picture = 0;         // bytes from AugmentArguments::pictures to its first pixel
  std::int32_t moves = 0;           // number of its first in AugmentArguments::moves
  std::int32_t before = 0;          // so many before the resize, in the order in which they are made
  std::int32_t after = 0;           // and so many behind it
  std::int32_t vertical_first = 0;  // of two passes
  ResizeAxis axes[2];               // down, across
};

struct AugmentArguments {
  const std::uint8_t* pictures = nullptr;
  std::int64_t channel_stride = 0, row_stride = 0, pixel_stride = 0;  // bytes
  const PictureWork* work = nullptr;                                  // one for each picture
  const PictureMove* moves = nullptr;
  const std::int32_t* plans = nullptr;
  const void* table = nullptr;     // [channels][256] elements: what each byte becomes
  std::uint8_t* out = nullptr;     // of the first picture
  std::int64_t row_bytes = 0;      // from one picture to the next
  std::int32_t element_bytes = 1;  // 1, 2, 4 or 8
  std::int32_t interleaved = 0;    // height, width, channels; else channels, height, width
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
  PictureStages(const AugmentArguments& arguments, std::int32_t picture)
      : a_(arguments), work_(arguments.work[picture]), moves_(arguments.moves + work_.moves) {}

  std::int32_t first_axis() const { return work_.vertical_first != 0 ? 0 : 1; }
  bool has_two_passes() const { return work_.axes[0].plan >= 0 && work_.axes[1].plan >= 0; }

  /// The place in the resized picture of a place in the finished one; or the move that filled it, as place_before().
  std::int32_t resized_place(std::int32_t axis, std::int32_t i) const {
    return place_before(moves_ + work_.before, work_.after, axis, i);
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

 private:
  static constexpr int kWeightBits = 22;
  static constexpr std::int32_t kHalf = 1 << (kWeightBits - 1);

  static constexpr std::uint8_t clipped(std::int32_t sum) {
    sum >>= kWeightBits;
    return static_cast<std::uint8_t>(sum < 0 ? 0 : sum > 255 ? 255 : sum);
  }

  const ResizeAxis& second() const { return work_.axes[1 - first_axis()]; }
  const std::int32_t* numbers(const ResizeAxis& axis) const { return a_.plans + axis.plan; }

  /// Of the picture before the resize; `along` is a place on the dimension of the first pass.
  std::uint8_t level(std::int32_t channel, std::int32_t along, std::int32_t other) const {
    const std::int32_t y = first_axis() == 0 ? along : other;
    const std::int32_t x = first_axis() == 0 ? other : along;
    const std::int32_t move = filled(y, x);
    if (move < 0) return moves_[-1 - move].fill[channel];
    return a_.pictures[work_.picture + channel * a_.channel_stride + y * a_.row_stride + x * a_.pixel_stride];
  }

  const AugmentArguments& a_;
  const PictureWork& work_;
  const PictureMove* moves_;
};

struct Augment {
  using Arguments = AugmentArguments;
  struct Shared {
    static constexpr std::int32_t kBetween = 16 << 10;
    std::int32_t low;                // the first line of `between`
    std::int32_t lines;              // how many; 0: all is computed where it is read
    std::uint8_t between[kBetween];  // [channels][lines][places of the tile along the first pass]
  };
  static constexpr std::int32_t kTile[2] = {8, 32};  // pixels down and across
  static constexpr std::int32_t kThreads = 256;
  static constexpr std::int32_t kPhases = 3;

  static constexpr std::int32_t tiles(std::int32_t side, std::int32_t tile) { return (side + tile - 1) / tile; }
  static constexpr std::int64_t blocks(const Arguments& a, std::int64_t pictures) {
    return pictures * tiles(a.height, kTile[0]) * tiles(a.width, kTile[1]);
  }

  /// The tile of a block.
  struct Tile {
    std::int32_t picture;
    std::int32_t first[2];  // pixel, down and across

    Tile(const Arguments& a, std::int32_t block) {
      const std::int32_t across = tiles(a.width, kTile[1]);
      const std::int32_t each = tiles(a.height, kTile[0]) * across;
      picture = block / each;
      first[0] = block % each / across * kTile[0];
      first[1] = block % across * kTile[1];
    }
  };

  template <std::int32_t kPhase>
  static void phase(const Arguments& a, Shared& shared, std::int32_t block, std::int32_t thread) {
    const Tile tile(a, block);
    const PictureStages picture(a, tile.picture);
    if constexpr (kPhase == 0) {
      if (thread == 0) find_lines(a, shared, tile, picture);
    } else if constexpr (kPhase == 1) {
      first_pass(a, shared, tile, picture, thread);
    } else {
      finish(a, shared, tile, picture, thread);
    }
  }

  static void find_lines(const Arguments& a, Shared& shared, const Tile& tile, const PictureStages& picture) {
    shared.low = 0;
    shared.lines = 0;
    if (!picture.has_two_passes()) return;
    const std::int32_t axis = 1 - picture.first_axis();
    const std::int32_t side = axis == 0 ? a.height : a.width;
    std::int32_t low = 0x7FFFFFFF, high = 0;
    for (std::int32_t i = tile.first[axis]; i < tile.first[axis] + kTile[axis] && i < side; ++i) {
      const std::int32_t b = picture.resized_place(axis, i);
      if (b < 0) continue;
      const std::int32_t first = picture.first_line(b);
      const std::int32_t end = first + picture.lines(b);
      low = first < low ? first : low;
      high = end > high ? end : high;
    }
    const std::int32_t line_bytes = a.channels * kTile[1 - axis];
    if (high <= low || high - low > Shared::kBetween / line_bytes) return;
    shared.low = low;
    shared.lines = high - low;
  }

  static void first_pass(const Arguments& a, Shared& shared, const Tile& tile, const PictureStages& picture,
                         std::int32_t thread) {
    const std::int32_t axis = picture.first_axis();
    const std::int32_t side = axis == 0 ? a.height : a.width;
    for (std::int32_t at = thread; at < a.channels * shared.lines * kTile[axis]; at += kThreads) {
      const std::int32_t i = tile.first[axis] + at % kTile[axis];
      const std::int32_t place = i < side ? picture.resized_place(axis, i) : -1;
      if (place < 0) continue;
      const std::int32_t line = at / kTile[axis];
      shared.between[at] = picture.once(line / shared.lines, place, shared.low + line % shared.lines);
    }
  }

  static void finish(const Arguments& a, const Shared& shared, const Tile& tile, const PictureStages& picture,
                     std::int32_t thread) {
    const std::int32_t in_tile[2] = {thread / kTile[1], thread % kTile[1]};
    const std::int32_t y = tile.first[0] + in_tile[0];
    const std::int32_t x = tile.first[1] + in_tile[1];
    if (y >= a.height || x >= a.width) return;
    const std::int32_t axis = picture.first_axis();
    const std::int32_t places[2] = {picture.resized_place(0, y), picture.resized_place(1, x)};
    const std::int32_t move = filled(places[0], places[1]);
    for (std::int32_t c = 0; c < a.channels; ++c) {
      std::uint8_t level = 0;
      if (move < 0) {
        level = picture.fill(c, move);
      } else {
        const std::uint8_t* between =
            shared.lines > 0 ? shared.between + c * shared.lines * kTile[axis] + in_tile[axis] : nullptr;
        level = picture.twice(c, places[axis], places[1 - axis], between, shared.low, kTile[axis]);
      }
      const std::int64_t pixel = static_cast<std::int64_t>(y) * a.width + x;
      const std::int64_t plane = static_cast<std::int64_t>(a.height) * a.width;
      put(a, tile.picture * a.row_bytes, a.interleaved != 0 ? pixel * a.channels + c : c * plane + pixel, c, level);
    }
  }

  static void put(const Arguments& a, std::int64_t row, std::int64_t element, std::int32_t channel,
                  std::uint8_t level) {
    switch (a.element_bytes) {
      case 8: return put_as<std::uint64_t>(a, row, element, channel, level);
      case 4: return put_as<std::uint32_t>(a, row, element, channel, level);
      case 2: return put_as<std::uint16_t>(a, row, element, channel, level);
      default: return put_as<std::uint8_t>(a, row, element, channel, level);
    }
  }

  template <class Element>
  static void put_as(const Arguments& a, std::int64_t row, std::int64_t element, std::int32_t channel,
                     std::uint8_t level) {
    reinterpret_cast<Element*>(a.out + row)[element] = static_cast<const Element*>(a.table)[channel * 256 + level];
  }
};
static_assert(Augment::kTile[0] * Augment::kTile[1] == Augment::kThreads, "a thread for each pixel of a tile");

}  // namespace drapps::device
