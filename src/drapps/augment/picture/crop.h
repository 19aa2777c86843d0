// Crop: the same rectangle of every picture.
//
// Draws nothing.
#pragma once

#include "drapps/augment/picture/geometry.h"
#include "drapps/augment/picture/op.h"

namespace drapps {

struct Crop {
  static constexpr std::string_view kTag = "crop";
  static constexpr int kVersion = 1;

  std::int32_t top = 0;
  std::int32_t left = 0;
  std::int32_t height = 224;
  std::int32_t width = 224;

  template <class V>
  void fields(V& v) {
    v("top", top);
    v("left", left);
    v("height", height);
    v("width", width);
  }
  bool operator==(const Crop&) const = default;

  bool draws() const { return false; }
  Status check() const;
  /// kInvalidArgument where pictures of one size are too small for the rectangle.
  Result<PictureSpec> infer(const PictureSpec& in) const;
  /// kInvalidArgument for a picture that does not contain the rectangle.
  Status run(Picture& picture, OpContext& ctx) const;
  Rect region(Extent whole, Draws draws) const;

 private:
  Rect rect() const noexcept { return {top, left, height, width}; }
  /// kInvalidArgument unless the rectangle lies within `whole`.
  Status check_fits(Extent whole, Stage stage) const;
};

}  // namespace drapps
