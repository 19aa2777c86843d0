// What an op on pictures is. An op is a plain struct with these members:
//
//   static constexpr std::string_view kTag;  stable name in a stored description
//   static constexpr int kVersion;           rises when the same fields mean other pixels
//   template <class V> void fields(V& v);    calls v("name", member) for each parameter, so that
//                                            storing and binding need no further code (fields.h)
//   bool operator==(const Op&) const = default;
//   Status check() const;                    parameters out of range, named, before anything runs
//   Result<PictureSpec> infer(const PictureSpec& in) const;    what comes out of what comes in
//   Status run(Picture& picture, OpContext& ctx) const;        makes it: reads `picture`, whose pixels it
//                                                              never writes to, and leaves in it views of
//                                                              the same pixels or of ctx's memory
//
// An op that gives the same for the same picture, whatever it is handed to draw with, says so:
//
//   bool draws() const { return false; }
//
// An op that reads only a part of its input picture also has
//
//   Rect region(Extent whole, Draws draws) const;
//
// which is what run() will read, given the same draws: as the first op it lets the decoder decode
// no more than that. run() accepts a picture whose window is any rectangle that contains it, and gives
// the same bytes for each. Boxes are in pixels of the whole picture in either case.
//
// Ops are stateless and called from many threads. All randomness comes from ctx.draws; the order of the
// draws stands in each op's header and is part of the documented format of a stream: other draws mean
// another kVersion. ops.h lists all ops and calls any of them.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "drapps/augment/picture/fields.h"
#include "drapps/augment/picture/trail.h"
#include "drapps/base/philox.h"
#include "drapps/base/result.h"
#include "drapps/data/picture.h"
#include "drapps/kernel/resize.h"

namespace drapps {

/// What is known of every picture at one place of a pipeline.
struct PictureSpec {
  std::int32_t channels = 3;
  Extent extent;       // the size, or the largest where it varies; 0 where nothing bounds it
  bool fixed = false;  // every picture has exactly this extent
  bool has_mask = false;
  bool has_boxes = false;
  bool erased = false;  // an erasure is pending: nothing may move or change pixels any more
  bool operator==(const PictureSpec&) const = default;
};

/// Memory that the ops of one picture share: two pictures and two masks, used in turn.
class Scratch {
 public:
  explicit Scratch(MemoryLedger& ledger) noexcept
      : images_{ImageBuffer(ledger), ImageBuffer(ledger)},
        masks_{ImageBuffer(ledger), ImageBuffer(ledger)},
        resizer_(ledger) {}

  /// A picture other than the latest one handed out, so that an op can read the one and write the other.
  Result<ImageView> next_image(std::int32_t channels, Extent extent) {
    return images_[image_turn_ ^= 1].reshape(channels, extent.height, extent.width);
  }
  Result<ImageView> next_mask(Extent extent) { return masks_[mask_turn_ ^= 1].reshape(1, extent.height, extent.width); }
  /// The buffer of the next image itself, for a decoder that learns the size on the way.
  ImageBuffer& next_image_buffer() noexcept { return images_[image_turn_ ^= 1]; }
  ImageBuffer& next_mask_buffer() noexcept { return masks_[mask_turn_ ^= 1]; }
  kernel::Resizer& resizer() noexcept { return resizer_; }

  /// Frees all memory.
  void reset() noexcept;

 private:
  std::array<ImageBuffer, 2> images_;
  std::array<ImageBuffer, 2> masks_;
  kernel::Resizer resizer_;
  unsigned image_turn_ = 0;
  unsigned mask_turn_ = 0;
};

struct OpContext {
  Draws draws;  // this op's own, at this picture's coordinate
  Scratch& scratch;
  bool last = false;       // no later op looks at the picture: what writing the row can do by the way may be left to it
  std::int32_t skip = 0;   // set by run(): how many of the ops behind this one are left out for this picture
  Trail* trail = nullptr;  // note all steps there, and leave pixels, mask and boxes alone: what changes are the extent
                           // and the number of channels
};

}  // namespace drapps
