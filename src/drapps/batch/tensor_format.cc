#include "drapps/batch/tensor_format.h"

#include <cmath>
#include <string>

#include "drapps/augment/picture/checks.h"
#include "drapps/kernel/normalize.h"

namespace drapps {

Status TensorFormat::check() const {
  if (!holds_pictures(dtype)) {
    return op_error(kTag, "pictures are not " + std::string(name_of(dtype)) +
                              "; ask for float32, bfloat16, float16, uint8, int32 or int64");
  }
  if (!is_float(dtype) && (scale || !mean.empty() || !table.empty())) {
    return op_error(kTag, "pictures in [0, 1] or normalised are not " + std::string(name_of(dtype)) +
                              "; ask for float32, bfloat16 or float16, or for neither scale nor mean, std and table");
  }
  if (mean.size() != std.size() || mean.size() > 4) {
    return op_error(kTag, "mean has " + std::to_string(mean.size()) + " numbers and std " + std::to_string(std.size()) +
                              "; give one of each, or one of each per channel");
  }
  if (!mean.empty() && !scale) {
    return op_error(kTag, "mean and std are those of pictures in [0, 1], so they need scale");
  }
  if (!table.empty()) {
    if (scale) return op_error(kTag, "a table says what a byte becomes, so it goes without scale, mean and std");
    DRAPPS_RETURN_IF_ERROR(kernel::Normalizer::from_table(table));
  }
  if (reciprocal && !scale) return op_error(kTag, "reciprocal is a way to scale, so it needs scale");
  for (std::size_t c = 0; c < mean.size(); ++c) {
    if (!std::isfinite(mean[c]) || !std::isfinite(std[c]) || std[c] == 0.0F) {
      return op_error(kTag, "mean and std of channel " + std::to_string(c) +
                                " must be finite numbers, and the std not zero, because it divides");
    }
  }
  return ok_status();
}

Result<std::vector<std::int64_t>> TensorFormat::infer(const PictureSpec& in) const {
  if (!mean.empty()) DRAPPS_RETURN_IF_ERROR(check_per_channel(kTag, "mean", mean.size(), in.channels));
  if (!table.empty()) DRAPPS_RETURN_IF_ERROR(check_per_channel(kTag, "table", table.size() / 256, in.channels));
  if (!in.fixed) {
    return op_error(kTag,
                    "the pictures have different sizes and cannot share a batch; end with an op that gives "
                    "one size: random_resized_crop, center_crop, random_crop or resize to height and width");
  }
  if (layout == Layout::kNhwc) return std::vector<std::int64_t>{in.extent.height, in.extent.width, in.channels};
  return std::vector<std::int64_t>{in.channels, in.extent.height, in.extent.width};
}

}  // namespace drapps
