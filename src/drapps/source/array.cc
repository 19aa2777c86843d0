#include "drapps/source/array.h"

#include <algorithm>
#include <set>
#include <utility>

#include "drapps/source/encoded.h"

namespace drapps {
namespace {

constexpr std::int32_t kMostChannels = 4;
constexpr std::int64_t kMostPixels = std::int64_t{1} << 30;

Status check_picture(const PictureArray& picture) {
  const auto [height, width] = picture.layout.extent;
  if (picture.layout.channels < 1 || picture.layout.channels > kMostChannels) {
    return invalid("pictures have 1 to 4 channels, not " + std::to_string(picture.layout.channels));
  }
  if (height < 1 || width < 1 || std::int64_t{height} * width > kMostPixels) {
    return invalid("pictures of " + std::to_string(height) + " x " + std::to_string(width) +
                   " pixels are empty or too large");
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

std::uint64_t pixels_of(const std::optional<PictureArray>& picture) {
  if (!picture) return 0;
  const auto [height, width] = picture->layout.extent;
  return static_cast<std::uint64_t>(height) * static_cast<std::uint64_t>(width);
}

/// What each record costs.
Hint cost_of(const std::vector<Array>& arrays, const std::optional<PictureArray>& picture) {
  std::uint64_t bytes = picture ? pixels_of(picture) * static_cast<std::uint64_t>(picture->layout.channels) : 0;
  for (const Array& array : arrays) bytes += array.row_bytes();
  return {.bytes = Hint::saturated(bytes), .work = Hint::saturated(pixels_of(picture))};
}

}  // namespace

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
    : Source(size, cost_of(columns, picture), {kImageName}),
      columns_(std::move(columns)),
      picture_(std::move(picture)),
      subset_(std::move(subset)),
      owner_(std::move(owner)) {
  if (picture_ && picture_->rows > 0) end_ = picture_->end();
}

void ArraySource::to_rows(std::span<std::uint64_t> indices) const noexcept {
  if (subset_ == nullptr) return;
  for (std::uint64_t& index : indices) index = (*subset_)[index];
}

Location ArraySource::locate(std::uint64_t index, RecordPart /*part*/) const noexcept {
  if (picture_) {
    const std::uint8_t* first = picture_->row(row(index));
    return {.path = nullptr, .bytes = {first, end_}, .contents = {.decoded = true, .layout = picture_->layout}};
  }
  const Array& first = columns_.front();
  const std::byte* data = first.data + static_cast<std::ptrdiff_t>(row(index)) * first.stride;
  return {.path = nullptr, .bytes = {reinterpret_cast<const std::uint8_t*>(data), first.row_bytes()}};
}

RecordIdentity ArraySource::identity(std::uint64_t index, RecordPart /*part*/) const noexcept {
  return identity_of(columns_, pictures(), row(index));
}

std::string ArraySource::name(std::uint64_t index, RecordPart /*part*/) const {
  return (picture_ ? picture_->name : columns_.front().name) + "[" + std::to_string(row(index)) + "]";
}

}  // namespace drapps
