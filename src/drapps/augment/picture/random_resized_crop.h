// RandomResizedCrop: a random part of the picture, resized. Distributions as torchvision's RandomResizedCrop, and, with
// Interpolation::kRandom, as timm's RandomResizedCropAndInterpolation("random").
//
// Draws: as geometry::random_resized_rect; then, for kRandom only, 1 word: bilinear below 2^31.
#pragma once

#include "drapps/augment/picture/geometry.h"
#include "drapps/augment/picture/op.h"

namespace drapps {

struct RandomResizedCrop {
  static constexpr std::string_view kTag = "random_resized_crop";
  static constexpr int kVersion = 1;

  std::int32_t height = 224;  // of the result
  std::int32_t width = 224;
  std::array<double, 2> scale{0.08, 1.0};             // area of the part over the picture's, uniform
  std::array<double, 2> ratio{3.0 / 4.0, 4.0 / 3.0};  // its width over its height, log-uniform
  Interpolation interpolation = Interpolation::kBilinear;
  kernel::PassOrder pass_order{};   // horizontal first with PyTorch's arithmetic
  kernel::Arithmetic arithmetic{};  // PyTorch's has no nearest
  kernel::Nearest mask_nearest{};   // how masks take the nearest

  template <class V>
  void fields(V& v) {
    v("height", height);
    v("width", width);
    v("scale", scale);
    v("ratio", ratio);
    v("interpolation", interpolation);
    v("pass_order", pass_order);
    v("arithmetic", arithmetic);
    v("mask_nearest", mask_nearest);
  }
  bool operator==(const RandomResizedCrop&) const = default;

  Status check() const;
  Result<PictureSpec> infer(const PictureSpec& in) const;
  Status run(Picture& picture, OpContext& ctx) const;
  Rect region(Extent whole, Draws draws) const;
};

}  // namespace drapps
