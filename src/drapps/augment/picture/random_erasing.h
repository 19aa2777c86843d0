// RandomErasing: rectangles of the finished row are overwritten. Distributions as torchvision's RandomErasing, and,
// with the other modes and counts, as timm's.
//
// The op only records what is erased in picture.erasures: it happens after normalising, when the row is written. So
// no op but another RandomErasing may follow.
//
// Draws: whether (1 word, below p · 2^32); the number of rectangles (2 words, where min_count < max_count); for each,
// as geometry::random_erased_rect, and then, where something is erased and the mode is not kConstant, 2 words: the
// low and the high half of the key that its normal deviates are drawn with (batch/erase.h).
#pragma once

#include <vector>

#include "drapps/augment/picture/op.h"

namespace drapps {

struct RandomErasing {
  static constexpr std::string_view kTag = "random_erasing";
  static constexpr int kVersion = 1;

  double p = 0.5;
  std::array<double, 2> scale{0.02, 0.33};  // erased area over the picture's, uniform; all rectangles together
  std::array<double, 2> ratio{0.3, 3.3};    // of a rectangle's height and width, log-uniform
  EraseMode mode = EraseMode::kConstant;
  std::vector<float> value{0.0F};  // in the units of the finished row, one for all channels or one for each
  std::int32_t min_count = 1;      // rectangles, uniform in [min_count, max_count]
  std::int32_t max_count = 1;

  template <class V>
  void fields(V& v) {
    v("p", p);
    v("scale", scale);
    v("ratio", ratio);
    v("mode", mode);
    v("value", value);
    v("min_count", min_count);
    v("max_count", max_count);
  }
  bool operator==(const RandomErasing&) const = default;

  Status check() const;
  Result<PictureSpec> infer(const PictureSpec& in) const;
  Status run(Picture& picture, OpContext& ctx) const;
};

}  // namespace drapps
