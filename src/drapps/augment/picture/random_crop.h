// RandomCrop: a part of fixed size at a random place, after padding. As torchvision's v2 RandomCrop.
//
// The border is made at once of `padding` and what pad_if_needed adds (on both sides, each as much as is missing).
// torchvision's first API pads one after the other, which differs only where both happen and the mode is kReflect
// or kSymmetric.
//
// Draws: top (2 words), left (2 words), in the padded picture.
#pragma once

#include <vector>

#include "drapps/augment/picture/geometry.h"
#include "drapps/augment/picture/op.h"

namespace drapps {

struct RandomCrop {
  static constexpr std::string_view kTag = "random_crop";
  static constexpr int kVersion = 1;

  std::int32_t height = 224;
  std::int32_t width = 224;
  std::int32_t pad_left = 0;
  std::int32_t pad_top = 0;
  std::int32_t pad_right = 0;
  std::int32_t pad_bottom = 0;
  bool pad_if_needed = false;
  PadMode mode = PadMode::kConstant;
  std::vector<std::int32_t> fill{0};  // for kConstant
  std::int32_t mask_fill = 0;         // class id around the mask, for kConstant

  template <class V>
  void fields(V& v) {
    v("height", height);
    v("width", width);
    v("pad_left", pad_left);
    v("pad_top", pad_top);
    v("pad_right", pad_right);
    v("pad_bottom", pad_bottom);
    v("pad_if_needed", pad_if_needed);
    v("mode", mode);
    v("fill", fill);
    v("mask_fill", mask_fill);
  }
  bool operator==(const RandomCrop&) const = default;

  Status check() const;
  Result<PictureSpec> infer(const PictureSpec& in) const;
  /// kInvalidArgument where the padded picture is smaller than the crop.
  Status run(Picture& picture, OpContext& ctx) const;
  Rect region(Extent whole, Draws draws) const;

 private:
  /// The crop in the coordinates of the unpadded picture, which it may leave; nothing where it does not fit.
  std::optional<Rect> place(Extent whole, Draws& draws) const noexcept;
};

}  // namespace drapps
