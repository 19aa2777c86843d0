#include "drapps/source/packed.h"

#include <algorithm>
#include <charconv>
#include <string>
#include <string_view>
#include <utility>

namespace drapps {
namespace {

constexpr std::uint64_t kNumber = 4;  // bytes of a count, an offset, a size
// The offsets are read by so many at a time.
constexpr std::uint64_t kOffsetsAtOnce = 1024;

Error bad(std::string message, std::uint64_t offset) {
  return Error{.code = ErrorCode::kCorrupt, .message = std::move(message), .offset = static_cast<std::int64_t>(offset)};
}

std::uint64_t little_endian(std::span<const std::uint8_t> bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = bytes.size(); i-- > 0;) value = value << 8 | bytes[i];
  return value;
}

Status check(const PackedColumns& columns) {
  const auto refuse = [](std::string message) {
    return Error{.code = ErrorCode::kInvalidArgument, .message = std::move(message)};
  };
  const std::size_t count = columns.sizes.size();
  if (columns.image >= count)
    return refuse("the image is column " + std::to_string(columns.image) + ", there are " + std::to_string(count) +
                  "; count from 0");
  for (const PackedColumns::Label& label : columns.labels) {
    if (label.column >= count)
      return refuse("a label is column " + std::to_string(label.column) + ", there are " + std::to_string(count) +
                    "; count from 0");
  }
  for (const std::int64_t size : columns.sizes) {
    if (size < PackedColumns::kVariable) return refuse("a column cannot have " + std::to_string(size) + " bytes");
  }
  return ok_status();
}

Result<std::int64_t> integer(std::span<const std::uint8_t> bytes, PackedInteger kind, std::uint64_t offset) {
  if (kind == PackedInteger::kDecimal) {
    const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size()) {
      return bad("the label here is no whole number; name another column", offset);
    }
    return value;
  }
  const std::size_t size = bytes.size();
  if (size != 1 && size != 2 && size != 4 && size != 8) {
    return bad("the label here has " + std::to_string(size) + " bytes, integers have 1, 2, 4 or 8; name another column",
               offset);
  }
  const std::uint64_t value = little_endian(bytes);
  if (kind == PackedInteger::kUnsigned) {
    if (value > INT64_MAX) return bad("the label here is above 2^63 - 1; labels are int64", offset);
    return static_cast<std::int64_t>(value);
  }
  const int unused = static_cast<int>(64 - 8 * size);
  return static_cast<std::int64_t>(value << unused) >> unused;
}

/// Walks one sample after the other.
class Lister {
 public:
  Lister(FileWindow& file, const PackedColumns& columns)
      : file_(file), columns_(columns), begin_(columns.sizes.size()) {
    heads_ =
        static_cast<std::uint64_t>(std::count(columns.sizes.begin(), columns.sizes.end(), PackedColumns::kVariable));
    listing_.labels.resize(columns.labels.size());
  }

  Status sample(std::uint64_t first, std::uint64_t end) {
    if (end < first || end > file_.size()) return bad("the offsets of a sample make no sense; restore the file", first);
    DRAPPS_RETURN_IF_ERROR(find_columns(first, end));
    const auto [image, image_end] = begin_[columns_.image];
    if (image_end - image > UINT32_MAX) return bad("the image here is larger than 4 GiB", image);
    listing_.offset.push_back(image);
    listing_.length.push_back(static_cast<std::uint32_t>(image_end - image));
    for (std::size_t i = 0; i < columns_.labels.size(); ++i) {
      const auto [label, label_end] = begin_[columns_.labels[i].column];
      const auto bytes = file_.read(label, label_end - label);
      if (!bytes.ok()) return std::move(bytes).error();
      const Result<std::int64_t> value = integer(*bytes, columns_.labels[i].integer, label);
      if (!value.ok()) return std::move(value).error();
      listing_.labels[i].push_back(*value);
    }
    return ok_status();
  }
  PackedListing& listing() { return listing_; }

 private:
  /// The range of each column of the sample.
  Status find_columns(std::uint64_t first, std::uint64_t end) {
    if (heads_ * kNumber > end - first) return bad("the sample is shorter than its sizes; restore the file", first);
    const auto head = file_.read(first, heads_ * kNumber);
    if (!head.ok()) return std::move(head).error();
    std::span<const std::uint8_t> sizes = *head;
    std::uint64_t at = first + heads_ * kNumber;
    for (std::size_t i = 0; i < begin_.size(); ++i) {
      auto size = static_cast<std::uint64_t>(columns_.sizes[i]);
      if (columns_.sizes[i] == PackedColumns::kVariable) {
        size = little_endian(sizes.first(kNumber));
        sizes = sizes.subspan(kNumber);
      }
      if (size > end - at) return bad("the columns of a sample go beyond its end; restore the file", first);
      begin_[i] = {at, at + size};
      at += size;
    }
    if (at != end) return bad("the columns of a sample end before it does; does index.json belong to it?", first);
    return ok_status();
  }

  FileWindow& file_;
  const PackedColumns& columns_;
  std::uint64_t heads_ = 0;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> begin_;  // begin and end of each column of the sample at hand
  PackedListing listing_;
};

}  // namespace

Result<PackedListing> list_packed(FileWindow& file, const PackedColumns& columns) {
  DRAPPS_RETURN_IF_ERROR(check(columns));
  const auto head = file.read(0, kNumber);
  if (!head.ok()) return std::move(head).error();
  const std::uint64_t count = little_endian(*head);
  if ((count + 2) * kNumber > file.size()) {
    return bad("the file has no room for " + std::to_string(count) + " samples; restore the file", 0);
  }
  Lister lister(file, columns);
  std::vector<std::uint64_t> offsets;
  for (std::uint64_t done = 0; done < count;) {
    const std::uint64_t now = std::min(kOffsetsAtOnce, count - done);
    const auto bytes = file.read((done + 1) * kNumber, (now + 1) * kNumber);
    if (!bytes.ok()) return std::move(bytes).error();
    offsets.clear();
    for (std::uint64_t i = 0; i <= now; ++i) offsets.push_back(little_endian(bytes->subspan(i * kNumber, kNumber)));
    for (std::uint64_t i = 0; i < now; ++i) DRAPPS_RETURN_IF_ERROR(lister.sample(offsets[i], offsets[i + 1]));
    done += now;
  }
  return std::move(lister.listing());
}

}  // namespace drapps
