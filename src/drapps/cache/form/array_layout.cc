#include "drapps/cache/form/array_layout.h"

#define XXH_INLINE_ALL  // NOLINT(readability-identifier-naming): the name is the library's
#include <xxhash.h>

#include <array>
#include <cstring>
#include <string>

namespace drapps::cache {
namespace {

constexpr std::array<char, 4> kMagic{'D', 'R', 'A', 'F'};
constexpr std::uint8_t kVersion = 1;
constexpr std::size_t kSumAt = 40;

std::uint64_t number_at(std::span<const std::uint8_t> bytes, std::size_t at) noexcept {
  std::uint64_t value = 0;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

void put_number(std::span<std::uint8_t> bytes, std::size_t at, std::uint64_t value) noexcept {
  std::memcpy(bytes.data() + at, &value, sizeof value);
}

Error damaged(const std::string& what) {
  return {.code = ErrorCode::kCorrupt, .stage = Stage::kDecode, .message = "a cached array is damaged: " + what};
}

/// The checksum of the header and the directory.
std::uint64_t head_sum(std::span<const std::uint8_t> entry, std::size_t content_at) noexcept {
  const std::uint64_t header = XXH3_64bits(entry.data(), kSumAt);
  const std::size_t directory = ArrayLayout::kHeaderBytes;
  return XXH3_64bits_withSeed(entry.data() + directory, content_at - directory, header);
}

}  // namespace

std::uint64_t checksum(std::span<const std::uint8_t> bytes) noexcept { return XXH3_64bits(bytes.data(), bytes.size()); }

Band read_band(std::span<const std::uint8_t> entry, std::uint64_t band) noexcept {
  const std::size_t at = ArrayLayout::kHeaderBytes + ArrayLayout::kDirectoryEntry * static_cast<std::size_t>(band);
  return {number_at(entry, at), number_at(entry, at + 8)};
}

void write_band(std::span<std::uint8_t> entry, std::uint64_t band, const Band& value) noexcept {
  const std::size_t at = ArrayLayout::kHeaderBytes + ArrayLayout::kDirectoryEntry * static_cast<std::size_t>(band);
  put_number(entry, at, value.end);
  put_number(entry, at + 8, value.sum);
}

ArrayLayout::ArrayLayout(FormId made_as, ByteFilter with, const ArrayShape& array) noexcept
    : form(made_as), filter(with), shape(array) {
  band_rows = std::clamp<std::uint64_t>(kBandBytes / std::max<std::uint64_t>(array.row_bytes, 1), 1,
                                        std::max<std::uint64_t>(array.rows, 1));
}

void ArrayLayout::write(std::span<std::uint8_t> entry) const noexcept {
  std::memcpy(entry.data(), kMagic.data(), kMagic.size());
  entry[4] = kVersion;
  entry[5] = static_cast<std::uint8_t>(form);
  entry[6] = static_cast<std::uint8_t>(filter);
  entry[7] = static_cast<std::uint8_t>(shape.dtype);
  put_number(entry, 8, shape.planes);
  put_number(entry, 16, shape.rows);
  put_number(entry, 24, shape.row_bytes);
  put_number(entry, 32, band_rows);
  put_number(entry, kSumAt, head_sum(entry, content_at()));
}

Result<ArrayLayout> ArrayLayout::parse(std::span<const std::uint8_t> entry) {
  if (entry.size() < kHeaderBytes) return damaged("it has " + std::to_string(entry.size()) + " bytes");
  if (std::memcmp(entry.data(), kMagic.data(), kMagic.size()) != 0 || entry[4] != kVersion) {
    return damaged("its header is another's");
  }
  if (entry[5] >= kForms || !is_array(static_cast<FormId>(entry[5])) || entry[6] >= kFilters || entry[7] >= kDtypes) {
    return damaged("its form, filter or dtype is unknown");
  }
  ArrayLayout layout(static_cast<FormId>(entry[5]), static_cast<ByteFilter>(entry[6]),
                     {.dtype = static_cast<Dtype>(entry[7]),
                      .planes = number_at(entry, 8),
                      .rows = number_at(entry, 16),
                      .row_bytes = number_at(entry, 24)});
  const ArrayShape& shape = layout.shape;
  const auto largest = [](std::uint64_t a) { return kMaxArrayBytes / std::max<std::uint64_t>(a, 1); };
  if (shape.planes > kMaxArrayBytes || shape.rows > largest(shape.planes) ||
      shape.row_bytes > largest(shape.planes * std::max<std::uint64_t>(shape.rows, 1)) ||
      shape.row_bytes > kMaxRowBytes || shape.row_bytes % size_of(shape.dtype) != 0 ||
      number_at(entry, 32) != layout.band_rows) {
    return damaged("its shape makes no sense");
  }
  if (layout.bands() > (entry.size() - kHeaderBytes) / kDirectoryEntry) return damaged("its directory is cut off");
  if (head_sum(entry, layout.content_at()) != number_at(entry, kSumAt)) return damaged("its checksum differs");
  const std::uint64_t end = layout.bands() == 0 ? 0 : read_band(entry, layout.bands() - 1).end;
  if (end != entry.size() - layout.content_at()) return damaged("it is longer or shorter than its bands");
  return layout;
}

}  // namespace drapps::cache
