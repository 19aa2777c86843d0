// RandomResize: resized by the shorter side, to a random length, with the shape kept. As torchvision's v2 RandomResize.
//
// Draws: the length of the shorter side (2 words), in [min_size, max_size).
#pragma once

#include "drapps/augment/picture/op.h"

namespace drapps {

struct RandomResize {
  static constexpr std::string_view kTag = "random_resize";
  static constexpr int kVersion = 1;

  std::int32_t min_size = 0;
  std::int32_t max_size = 0;                               // one more than the most
  Interpolation interpolation = Interpolation::kBilinear;  // this and the rest as of Resize
  kernel::PassOrder pass_order{};
  kernel::Arithmetic arithmetic{};
  kernel::Nearest mask_nearest{};

  template <class V>
  void fields(V& v) {
    v("min_size", min_size);
    v("max_size", max_size);
    v("interpolation", interpolation);
    v("pass_order", pass_order);
    v("arithmetic", arithmetic);
    v("mask_nearest", mask_nearest);
  }
  bool operator==(const RandomResize&) const = default;

  Status check() const;
  Result<PictureSpec> infer(const PictureSpec& in) const;
  Status run(Picture& picture, OpContext& ctx) const;
};

}  // namespace drapps
