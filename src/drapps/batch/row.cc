#include "drapps/batch/row.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <string>
#include <utility>

#include "drapps/augment/picture/checks.h"
#include "drapps/batch/erase.h"

namespace drapps {
namespace {

Error row_error(ErrorCode code, std::string message) {
  return {.code = code, .stage = Stage::kBatch, .message = std::move(message)};
}

Error wrong_size(const char* what, ConstImageView view, std::int32_t channels, Extent extent) {
  return row_error(ErrorCode::kInvalidArgument,
                   std::string("a ") + what + " of " + to_string({view.height, view.width}) + " in " +
                       std::to_string(view.channels) + " channels does not fit a row of " + to_string(extent) + " in " +
                       std::to_string(channels) + "; end with an op that gives all one size");
}

bool fits(ConstImageView view, std::int32_t channels, Extent extent) noexcept {
  return view.channels == channels && view.height == extent.height && view.width == extent.width;
}

Result<kernel::Normalizer> normalizer_of(const TensorFormat& format, std::int32_t channels) {
  if (!format.table.empty()) return kernel::Normalizer::from_table(format.table);
  if (!format.scale) return kernel::Normalizer::raw();
  const auto scaling = format.reciprocal ? kernel::Scaling::kReciprocal : kernel::Scaling::kDivide;
  if (format.mean.empty()) return kernel::Normalizer::unit(scaling);
  if (format.mean.size() > 1) return kernel::Normalizer::standard(format.mean, format.std, scaling);
  const std::vector<float> mean(static_cast<std::size_t>(channels), format.mean[0]);
  const std::vector<float> std(static_cast<std::size_t>(channels), format.std[0]);
  return kernel::Normalizer::standard(mean, std, scaling);
}

}  // namespace

Result<PictureWriter> PictureWriter::make(const TensorFormat& format, const PictureSpec& in) {
  DRAPPS_RETURN_IF_ERROR(format.check());
  DRAPPS_RETURN_IF_ERROR(format.infer(in));
  Result<kernel::Normalizer> normalizer = normalizer_of(format, in.channels);
  DRAPPS_RETURN_IF_ERROR(normalizer);
  DRAPPS_RETURN_IF_ERROR(normalizer->check(in.channels, {format.dtype, format.layout}));
  return PictureWriter(*normalizer, format, in);
}

Status PictureWriter::write(const Picture& picture, std::byte* row) const {
  if (!fits(picture.image, channels_, extent_)) return wrong_size("picture", picture.image, channels_, extent_);
  normalizer_.store(row, picture.image, row_, picture.mirrored);
  for (const Erasure& erasure : picture.erasures) erase(row, row_, channels_, extent_, erasure);
  return ok_status();
}

std::vector<std::byte> PictureWriter::table() const {
  std::array<std::uint8_t, 256> ramp;
  std::iota(ramp.begin(), ramp.end(), std::uint8_t{0});
  const ConstImageView levels{ramp.data(), channels_, 1, 256, 256, 0};  // the same plane for each channel
  const kernel::RowFormat format{row_.dtype, Layout::kNchw};
  std::vector<std::byte> table(kernel::row_size(format, channels_, 1, 256));
  normalizer_.store(table.data(), levels, format);
  return table;
}

Result<MaskWriter> MaskWriter::make(Dtype dtype, const PictureSpec& in) {
  if (is_float(dtype) || !holds_pictures(dtype)) {
    return row_error(ErrorCode::kInvalidArgument,
                     "masks hold class ids; ask for uint8, int32 or int64, not " + std::string(name_of(dtype)));
  }
  if (!in.fixed) {
    return row_error(ErrorCode::kInvalidArgument,
                     "the masks have different sizes and cannot share a batch; end with an op that gives one size");
  }
  return MaskWriter(dtype, in.extent);
}

Status MaskWriter::write(const Picture& picture, std::byte* row) const {
  if (!picture.mask) return row_error(ErrorCode::kInvalidArgument, "the sample has no mask; give each record one");
  if (!fits(*picture.mask, 1, extent_)) return wrong_size("mask", *picture.mask, 1, extent_);
  normalizer_.store(row, *picture.mask, row_);
  return ok_status();
}

Result<std::int32_t> write_boxes(const Picture& picture, std::span<float> row) {
  const std::size_t count = picture.boxes.size();
  if (count > row.size() / 4) {
    return row_error(ErrorCode::kTooLarge, "the sample has " + std::to_string(count) + " boxes and a row holds " +
                                               std::to_string(row.size() / 4) + "; raise max_boxes to at least " +
                                               std::to_string(count));
  }
  auto out = row.begin();
  for (const Box& box : picture.boxes) {
    for (const float edge : {box.x0, box.y0, box.x1, box.y1}) *out++ = edge;
  }
  std::fill(out, row.end(), 0.0F);
  return static_cast<std::int32_t>(count);
}

void write_box_values(const Picture& picture, std::span<const std::int64_t> of_record,
                      std::span<std::int64_t> row) noexcept {
  auto out = row.begin();
  for (const std::int32_t box : picture.box_rows) *out++ = of_record[static_cast<std::size_t>(box)];
  std::fill(out, row.end(), kNoBox);
}

}  // namespace drapps
