// What the pictures of a batch look like: torchvision's ToTensor (or PILToTensor) and Normalize, as a description.
//
//   dtype    scale   mean, std   an element of channel c
//   floats   yes     empty       x / 255
//   floats   yes     given       (x / 255 - mean[c]) / std[c], each step rounded to float32
//   any      no      empty       x
//   floats   no      empty       table[x], or table[256·c + x]: what `table` says where it is not empty
//
// With `reciprocal`, x / 255 is x · (1 / 255) instead, as torchvision's v2.ToDtype computes it.
// Floats are float32, bfloat16 and float16: the float32 value rounded to the nearest, ties to even. Other dtypes are
// uint8, int32 and int64.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "drapps/augment/picture/fields.h"
#include "drapps/augment/picture/op.h"
#include "drapps/base/result.h"
#include "drapps/data/dtype.h"

namespace drapps {

template <>
struct EnumNames<Dtype> {
  static constexpr std::array<std::string_view, kDtypes> kNames = [] {
    std::array<std::string_view, kDtypes> names{};
    for (std::size_t i = 0; i < kDtypes; ++i) names[i] = name_of(static_cast<Dtype>(i));
    return names;
  }();
};
template <>
struct EnumNames<Layout> {
  static constexpr std::array<std::string_view, 2> kNames{"nchw", "nhwc"};
};

struct TensorFormat {
  static constexpr std::string_view kTag = "tensor";
  static constexpr int kVersion = 1;

  Dtype dtype = Dtype::kFloat32;
  Layout layout = Layout::kNchw;
  bool scale = true;
  bool reciprocal = false;  // see above
  std::vector<float> mean;  // one for all channels, or one for each
  std::vector<float> std;
  std::vector<float> table;  // 256 for all channels, or 256 for each

  template <class V>
  void fields(V& v) {
    v("dtype", dtype);
    v("layout", layout);
    v("scale", scale);
    v("reciprocal", reciprocal);
    v("mean", mean);
    v("std", std);
    v("table", table);
  }
  bool operator==(const TensorFormat&) const = default;

  /// kInvalidArgument for a combination that the table above does not have.
  Status check() const;
  /// The shape of one row, {channels, height, width} or {height, width, channels}. kInvalidArgument where the
  /// pictures have no common size, or mean and std do not fit their channels.
  Result<std::vector<std::int64_t>> infer(const PictureSpec& in) const;
};

}  // namespace drapps
