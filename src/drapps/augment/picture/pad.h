// Pad: a border around the picture. As torchvision's Pad, without negative borders.
//
// Draws nothing.
#pragma once

#include <vector>

#include "drapps/augment/picture/geometry.h"
#include "drapps/augment/picture/op.h"

namespace drapps {

struct Pad {
  static constexpr std::string_view kTag = "pad";
  static constexpr int kVersion = 1;

  std::int32_t left = 0;
  std::int32_t top = 0;
  std::int32_t right = 0;
  std::int32_t bottom = 0;
  PadMode mode = PadMode::kConstant;
  std::vector<std::int32_t> fill{0};  // for kConstant
  std::int32_t mask_fill = 0;         // class id around the mask, for kConstant

  template <class V>
  void fields(V& v) {
    v("left", left);
    v("top", top);
    v("right", right);
    v("bottom", bottom);
    v("mode", mode);
    v("fill", fill);
    v("mask_fill", mask_fill);
  }
  bool operator==(const Pad&) const = default;

  bool draws() const { return false; }
  Status check() const;
  Result<PictureSpec> infer(const PictureSpec& in) const;
  Status run(Picture& picture, OpContext& ctx) const;
};

}  // namespace drapps
