// CenterCrop: the middle of the picture, with zeros around it where the picture is smaller. As torchvision's
// CenterCrop.
//
// Draws nothing.
#pragma once

#include "drapps/augment/geometry.h"
#include "drapps/augment/op.h"

namespace drapps {

struct CenterCrop {
  static constexpr std::string_view kTag = "center_crop";
  static constexpr int kVersion = 1;

  std::int32_t height = 224;
  std::int32_t width = 224;

  template <class V>
  void fields(V& v) {
    v("height", height);
    v("width", width);
  }
  bool operator==(const CenterCrop&) const = default;

  Status check() const;
  Result<SampleSpec> infer(const SampleSpec& in) const;
  Status run(Sample& sample, OpContext& ctx) const;
  Rect region(Extent whole, Draws draws) const;
};

}  // namespace drapps
