#include "drapps/source/array.h"

#include <algorithm>
#include <cstring>
#include <set>
#include <utility>

#include "drapps/kernel/planes.h"

namespace drapps {
namespace {

constexpr std::int32_t kMostChannels = 4;
constexpr std::int64_t kMostPixels = std::int64_t{1} << 30;

Status check_picture(const PictureArray& picture) {
  const std::int64_t pixels = std::int64_t{picture.extent.height} * picture.extent.width;
  if (picture.channels < 1 || picture.channels > kMostChannels) {
    return invalid("pictures have 1 to 4 channels, not " + std::to_string(picture.channels));
  }
  if (picture.extent.height < 1 || picture.extent.width < 1 || pixels > kMostPixels) {
    return invalid("pictures of " + std::to_string(picture.extent.height) + " x " +
                   std::to_string(picture.extent.width) + " pixels are empty or too large");
  }
  return ok_status();
}

/// Checks one array's name and length against those before it.
Status check_column(const std::string& name, std::uint64_t rows, std::uint64_t expected, std::set<std::string>& names) {
  if (name.empty() || name == "index" || name == "position" || name == "flags" || !names.insert(name).second) {
    return invalid("an array may not be called '" + name + "': names are unique, and not index, position or flags");
  }
  if (rows == expected) return ok_status();
  return invalid("array '" + name + "' has " + std::to_string(rows) + " rows where another has " +
                 std::to_string(expected) + "; give all the same number");
}

}  // namespace

std::size_t Array::row_bytes() const noexcept {
  std::size_t bytes = size_of(dtype);
  for (const std::int64_t side : row_shape) bytes *= static_cast<std::size_t>(side);
  return bytes;
}

Result<std::unique_ptr<ArraySource>> ArraySource::make(std::vector<Array> arrays, std::optional<PictureArray> picture,
                                                       std::shared_ptr<const std::vector<std::uint64_t>> subset,
                                                       std::shared_ptr<const void> owner) {
  if (arrays.empty() && !picture) return invalid("there is no array; give at least one");
  const std::uint64_t rows = picture ? picture->rows : arrays.front().rows;
  std::set<std::string> names;
  if (picture) {
    DRAPPS_RETURN_IF_ERROR(check_picture(*picture));
    DRAPPS_RETURN_IF_ERROR(check_column(picture->name, picture->rows, rows, names));
  }
  for (const Array& array : arrays) {
    DRAPPS_RETURN_IF_ERROR(check_column(array.name, array.rows, rows, names));
    if (std::any_of(array.row_shape.begin(), array.row_shape.end(), [](std::int64_t side) { return side < 1; })) {
      return invalid("the rows of array '" + array.name + "' hold nothing");
    }
  }
  if (subset != nullptr) {
    const auto bad = std::find_if(subset->begin(), subset->end(), [&](std::uint64_t row) { return row >= rows; });
    if (bad != subset->end()) {
      return invalid("the subset names row " + std::to_string(*bad) + " of " + std::to_string(rows));
    }
  }
  const std::uint64_t size = subset == nullptr ? rows : subset->size();
  return std::unique_ptr<ArraySource>(
      new ArraySource(size, std::move(arrays), std::move(picture), std::move(subset), std::move(owner)));
}

ArraySource::ArraySource(std::uint64_t size, std::vector<Array> columns, std::optional<PictureArray> picture,
                         std::shared_ptr<const std::vector<std::uint64_t>> subset, std::shared_ptr<const void> owner)
    : Source(size),
      columns_(std::move(columns)),
      picture_(std::move(picture)),
      subset_(std::move(subset)),
      owner_(std::move(owner)) {
  if (!picture_ || picture_->rows == 0) return;
  const auto reach = [](std::ptrdiff_t stride, std::uint64_t count) {
    return std::max(stride, std::ptrdiff_t{0}) * static_cast<std::ptrdiff_t>(count - 1);
  };
  end_ = picture_->data + reach(picture_->stride, picture_->rows) +
         reach(picture_->channel_stride, static_cast<std::uint64_t>(picture_->channels)) +
         reach(picture_->row_stride, static_cast<std::uint64_t>(picture_->extent.height)) +
         reach(picture_->pixel_stride, static_cast<std::uint64_t>(picture_->extent.width)) + 1;
}

Location ArraySource::locate(std::uint64_t index, Part /*part*/) const noexcept {
  if (picture_) return {.path = nullptr, .bytes = {pixels(row(index)), 1}};
  const Array& first = columns_.front();
  const std::byte* data = first.data + static_cast<std::ptrdiff_t>(row(index)) * first.stride;
  return {.path = nullptr, .bytes = {reinterpret_cast<const std::uint8_t*>(data), first.row_bytes()}};
}

std::string ArraySource::name(std::uint64_t index, Part /*part*/) const {
  return (picture_ ? picture_->name : columns_.front().name) + "[" + std::to_string(row(index)) + "]";
}

bool ArraySource::readable_behind(const std::uint8_t* end) const noexcept {
  return end + kPadding <= end_;  // kernels may read so much past a row
}

Result<ImageView> ArraySource::picture(std::uint64_t row, ImageBuffer& copy) const {
  const PictureArray& all = *pictures();
  const std::uint8_t* from = pixels(row);
  const auto [height, width] = all.extent;
  const bool whole_rows = all.pixel_stride == 1 && all.row_stride >= width && all.channel_stride >= 0;
  const std::uint8_t* end =
      from + (all.channels - 1) * all.channel_stride + (height - 1) * all.row_stride + std::ptrdiff_t{width};
  if (whole_rows && readable_behind(end)) {
    // An op never writes to the picture that it reads.
    return ImageView{const_cast<std::uint8_t*>(from), all.channels, height, width, all.row_stride, all.channel_stride};
  }
  auto planes = copy.reshape(all.channels, height, width);
  if (planes.ok()) copy_planes(*planes, from);
  return planes;
}

Result<ImageView> ArraySource::flat_picture(std::uint64_t row, ImageBuffer& copy) const {
  const PictureArray& all = *pictures();
  const std::uint8_t* from = pixels(row);
  const std::int32_t count = all.extent.height * all.extent.width;
  const bool whole_planes = all.pixel_stride == 1 && (all.row_stride == all.extent.width || all.extent.height == 1) &&
                            all.channel_stride >= 0;
  if (whole_planes && readable_behind(from + (all.channels - 1) * all.channel_stride + count)) {
    return ImageView{const_cast<std::uint8_t*>(from), all.channels, 1, count, count, all.channel_stride};
  }
  auto planes = copy.reshape(all.channels, 1, count);
  if (!planes.ok()) return planes;
  // Rows without gaps between them are copied as one.
  const bool joined = all.row_stride == all.pixel_stride * all.extent.width;
  const auto [height, width] = joined ? Extent{1, count} : all.extent;
  copy_planes({planes->data, all.channels, height, width, width, planes->plane_stride}, from);
  return planes;
}

void ArraySource::copy_planes(ImageView out, const std::uint8_t* from) const noexcept {
  const PictureArray& all = *pictures();
  const auto width = static_cast<std::size_t>(out.width);
  const bool interleaved = all.channels == 3 && all.channel_stride == 1 && all.pixel_stride == 3;
  for (std::int32_t y = 0; y < out.height; ++y) {
    const std::uint8_t* row = from + y * all.row_stride;
    if (interleaved) {
      kernel::deinterleave3(out.row(0, y), out.row(1, y), out.row(2, y), row, width);
      continue;
    }
    for (std::int32_t c = 0; c < out.channels; ++c) {
      const std::uint8_t* in = row + c * all.channel_stride;
      std::uint8_t* to = out.row(c, y);
      if (all.pixel_stride == 1) {
        std::memcpy(to, in, width);
      } else {
        for (std::size_t x = 0; x < width; ++x) to[x] = in[static_cast<std::ptrdiff_t>(x) * all.pixel_stride];
      }
    }
  }
}

}  // namespace drapps
