// HorizontalFlip and VerticalFlip: mirrored with probability p.
//
// Draws: 1 word; the picture is mirrored where it is below p · 2^32.
#pragma once

#include "drapps/augment/picture/op.h"

namespace drapps {

/// Left and right change places.
struct HorizontalFlip {
  static constexpr std::string_view kTag = "horizontal_flip";
  static constexpr int kVersion = 1;

  double p = 0.5;

  template <class V>
  void fields(V& v) {
    v("p", p);
  }
  bool operator==(const HorizontalFlip&) const = default;

  Status check() const;
  Result<PictureSpec> infer(const PictureSpec& in) const;
  Status run(Picture& picture, OpContext& ctx) const;
};

/// Top and bottom change places.
struct VerticalFlip {
  static constexpr std::string_view kTag = "vertical_flip";
  static constexpr int kVersion = 1;

  double p = 0.5;

  template <class V>
  void fields(V& v) {
    v("p", p);
  }
  bool operator==(const VerticalFlip&) const = default;

  Status check() const;
  Result<PictureSpec> infer(const PictureSpec& in) const;
  Status run(Picture& picture, OpContext& ctx) const;
};

}  // namespace drapps
