// Resize: to an exact size, or by one side with the shape kept. Sizes as torchvision's Resize computes them.
//
// Exactly one of these is given, the rest is 0:
//   height and width             the exact size
//   short_side                   the shorter side; with max_size, the longer gets no longer than that
//   max_size                     the longer side
//
// Draws nothing.
#pragma once

#include "drapps/augment/picture/geometry.h"
#include "drapps/augment/picture/op.h"

namespace drapps {

struct Resize {
  static constexpr std::string_view kTag = "resize";
  static constexpr int kVersion = 1;

  std::int32_t height = 0;
  std::int32_t width = 0;
  std::int32_t short_side = 0;
  std::int32_t max_size = 0;
  Interpolation interpolation = Interpolation::kBilinear;  // not kRandom
  kernel::PassOrder pass_order{};                          // horizontal first with PyTorch's arithmetic
  kernel::Arithmetic arithmetic{};                         // PyTorch's has no nearest
  kernel::Nearest mask_nearest{};                          // how masks take the nearest

  template <class V>
  void fields(V& v) {
    v("height", height);
    v("width", width);
    v("short_side", short_side);
    v("max_size", max_size);
    v("interpolation", interpolation);
    v("pass_order", pass_order);
    v("arithmetic", arithmetic);
    v("mask_nearest", mask_nearest);
  }
  bool operator==(const Resize&) const = default;

  /// What a picture of `whole` is resized to.
  Extent target(Extent whole) const noexcept;

  bool draws() const { return false; }
  Status check() const;
  Result<PictureSpec> infer(const PictureSpec& in) const;
  /// kInvalidArgument where a side would get no pixel.
  Status run(Picture& picture, OpContext& ctx) const;
};

}  // namespace drapps
