#include "drapps/modality/picture_forms.h"

namespace drapps {
namespace {

cache::ArrayShape shape_of(std::int32_t channels, Extent extent) noexcept {
  return {.dtype = Dtype::kUint8,
          .planes = static_cast<std::uint64_t>(channels),
          .rows = static_cast<std::uint64_t>(extent.height),
          .row_bytes = static_cast<std::uint64_t>(extent.width)};
}

Error no_picture() {
  return {
      .code = ErrorCode::kCorrupt, .stage = Stage::kDecode, .message = "a cached array is damaged: it is no picture"};
}

/// The shape of what was kept, if it is a picture's.
Result<cache::ArrayView> picture_of(std::span<const std::uint8_t> entry) {
  auto array = cache::ArrayCodec::in_place(entry);
  if (!array.ok()) return array;
  constexpr std::uint64_t kMaxSide = std::uint64_t{1} << 24;
  const cache::ArrayShape& shape = array->shape;
  const bool picture = shape.dtype == Dtype::kUint8 && shape.planes - 1 < 4 && shape.rows - 1 < kMaxSide &&
                       shape.row_bytes - 1 < kMaxSide;
  return picture ? std::move(array) : Result<cache::ArrayView>(no_picture());
}

}  // namespace

std::size_t PictureForms::least_bytes(cache::FormId form, std::int32_t channels, Extent extent) noexcept {
  const std::size_t bytes = cache::ArrayCodec::bound(form, shape_of(channels, extent));
  // What compresses may compress to a fraction; that much is tried.
  return form == cache::FormId::kRaw || form == cache::FormId::kPrepared ? bytes : bytes / 4;
}

Result<std::span<const std::uint8_t>> PictureForms::encode(cache::FormId form, ConstImageView image) {
  const cache::ArrayView array{.shape = shape_of(image.channels, {image.height, image.width}),
                               .data = image.data,
                               .plane_stride = image.plane_stride,
                               .row_stride = image.row_stride};
  DRAPPS_RETURN_IF_ERROR(encoded_.ensure(cache::ArrayCodec::bound(form, array.shape)));
  const auto bytes = codec_.encode(form, array, {encoded_.data(), encoded_.capacity()});
  if (!bytes.ok()) return bytes.error();
  return std::span<const std::uint8_t>(encoded_.data(), *bytes);
}

Result<std::span<const std::uint8_t>> PictureForms::coefficients(std::span<const std::uint8_t> file) {
  DRAPPS_RETURN_IF_ERROR(transcoder_.transcode(file, coefficients_));
  return std::span<const std::uint8_t>(coefficients_);
}

Result<Extent> PictureForms::extent(std::span<const std::uint8_t> entry) {
  const auto array = picture_of(entry);
  if (!array.ok()) return array.error();
  return Extent{static_cast<std::int32_t>(array->shape.rows), static_cast<std::int32_t>(array->shape.row_bytes)};
}

Result<ImageView> PictureForms::read(std::span<const std::uint8_t> entry, const Rect& region, ImageBuffer& into) {
  const auto array = picture_of(entry);
  if (!array.ok()) return array.error();
  const auto channels = static_cast<std::int32_t>(array->shape.planes);
  const auto width = static_cast<std::int32_t>(array->shape.row_bytes);
  if (array->data != nullptr) {
    // An op never writes to the picture that it reads, and behind an array there is the padding that it may read.
    const ConstImageView whole{array->data, channels,          static_cast<std::int32_t>(array->shape.rows),
                               width,       array->row_stride, array->plane_stride};
    const ConstImageView part = whole.crop(region);
    return ImageView{
        const_cast<std::uint8_t*>(part.data), channels, part.height, part.width, part.row_stride, part.plane_stride};
  }
  auto rows = into.reshape(channels, region.height, width);
  if (!rows.ok()) return rows;
  cache::ArrayShape shape = array->shape;
  shape.rows = static_cast<std::uint64_t>(region.height);
  DRAPPS_RETURN_IF_ERROR(codec_.decode(
      entry, static_cast<std::uint64_t>(region.top),
      {.shape = shape, .data = rows->data, .plane_stride = rows->plane_stride, .row_stride = rows->row_stride}));
  return rows->crop({.top = 0, .left = region.left, .height = region.height, .width = region.width});
}

void PictureForms::reset() noexcept {
  codec_.reset();
  encoded_.reset();
  transcoder_.reset();
  coefficients_ = {};
}

}  // namespace drapps
