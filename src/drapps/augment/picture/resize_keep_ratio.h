// ResizeKeepRatio: resized with the shape kept, or nearly, to a size that a target rectangle fits or that fits it. As
// timm's ResizeKeepRatio.
//
// The sides are round(side · factor / r), where r is the larger of height over target height and width over target
// width times `longest`, plus the smaller of both times 1 - `longest`.
//
// Draws: whether the scale changes (1 word) and, where it does, its factor (1); whether the aspect ratio changes (1)
// and, where it does, its log (1); then, for kRandom only, 1 word: bilinear below 2^31.
#pragma once

#include "drapps/augment/picture/op.h"

namespace drapps {

struct ResizeKeepRatio {
  static constexpr std::string_view kTag = "resize_keep_ratio";
  static constexpr int kVersion = 1;

  std::int32_t height = 224;  // of the target
  std::int32_t width = 224;
  double longest = 0.0;  // 0: the picture covers the target; 1: it fits into it
  double scale_p = 0.0;
  std::array<double, 2> scale{0.85, 1.05};  // uniform; a factor of both sides
  bool scale_area = false;                  // the factor is the root of 1 over what was drawn
  double aspect_p = 0.0;
  std::array<double, 2> aspect{0.9, 1.11};  // width over height, times this; log-uniform
  Interpolation interpolation = Interpolation::kBilinear;
  kernel::PassOrder pass_order{};
  kernel::Nearest mask_nearest{};  // how masks take the nearest

  template <class V>
  void fields(V& v) {
    v("height", height);
    v("width", width);
    v("longest", longest);
    v("scale_p", scale_p);
    v("scale", scale);
    v("scale_area", scale_area);
    v("aspect_p", aspect_p);
    v("aspect", aspect);
    v("interpolation", interpolation);
    v("pass_order", pass_order);
    v("mask_nearest", mask_nearest);
  }
  bool operator==(const ResizeKeepRatio&) const = default;

  /// What a picture of `whole` is resized to, with the factors of its height and its width.
  Extent target(Extent whole, double height_factor, double width_factor) const noexcept;

  bool draws() const { return scale_p > 0 || aspect_p > 0 || interpolation == Interpolation::kRandom; }
  Status check() const;
  Result<PictureSpec> infer(const PictureSpec& in) const;
  /// kInvalidArgument where a side would get no pixel.
  Status run(Picture& picture, OpContext& ctx) const;
};

}  // namespace drapps
