// CenterCrop: the middle of the picture; where the picture is smaller, with a border around it (`pad`) or an error. As
// torchvision's CenterCrop, whose border is zeros, and timm's CenterCropOrPad; rounded down, as TensorFlow's
// resize_with_crop_or_pad.
//
// Draws nothing.
#pragma once

#include <vector>

#include "drapps/augment/picture/geometry.h"
#include "drapps/augment/picture/op.h"

namespace drapps {

template <>
struct EnumNames<geometry::Rounding> {
  static constexpr std::array<std::string_view, 2> kNames{"half_even", "down"};
};

struct CenterCrop {
  static constexpr std::string_view kTag = "center_crop";
  static constexpr int kVersion = 1;

  std::int32_t height = 224;
  std::int32_t width = 224;
  geometry::Rounding rounding = geometry::Rounding::kHalfEven;
  bool pad = true;
  PadMode mode = PadMode::kConstant;
  std::vector<std::int32_t> fill{0};  // one level, or one per channel
  std::int32_t mask_fill = 0;

  template <class V>
  void fields(V& v) {
    v("height", height);
    v("width", width);
    v("rounding", rounding);
    v("pad", pad);
    v("mode", mode);
    v("fill", fill);
    v("mask_fill", mask_fill);
  }
  bool operator==(const CenterCrop&) const = default;

  bool draws() const { return false; }
  Status check() const;
  Result<PictureSpec> infer(const PictureSpec& in) const;
  /// kInvalidArgument for a picture that is smaller, without `pad`.
  Status run(Picture& picture, OpContext& ctx) const;
  Rect region(Extent whole, Draws draws) const;

 private:
  Status check_fits(Extent whole, Stage stage) const;
};

}  // namespace drapps
