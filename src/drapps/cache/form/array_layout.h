// How an encoded array lies in memory: a header, a directory of its bands, then the bands.
//
//   offset  bytes
//   0       4      "DRAF"
//   4       1      version, 1
//   5       1      form, 6 filter, 7 dtype: numbers of FormId, ByteFilter, Dtype
//   8       8      planes, 16 rows of a plane, 24 bytes of a row, 32 rows of a band
//   40      8      XXH3-64 of the header before this place and of the directory
//   48      16     for each band: the end of its bytes behind the directory, and their XXH3-64
//
// Numbers are little-endian. A band is some rows of one plane, the last of a plane perhaps fewer; as many as 32 KiB
// hold, so that it is decompressed in the nearest cache, and a part of a picture needs few that reach beyond it. Bands
// stand one after the other, plane by plane; one as long as its rows is not compressed.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "drapps/base/result.h"
#include "drapps/cache/form/filter.h"
#include "drapps/cache/form/form.h"
#include "drapps/data/dtype.h"

namespace drapps::cache {

/// An array as rows of bytes: a picture [C, H, W] is C planes of H rows, anything else one plane of rows.
struct ArrayShape {
  Dtype dtype = Dtype::kUint8;
  std::uint64_t planes = 1;
  std::uint64_t rows = 0;       // of each plane
  std::uint64_t row_bytes = 0;  // a multiple of the element's
  bool operator==(const ArrayShape&) const = default;

  std::uint64_t plane_bytes() const noexcept { return rows * row_bytes; }
  std::uint64_t bytes() const noexcept { return planes * plane_bytes(); }
};

inline constexpr std::uint64_t kMaxArrayBytes = std::uint64_t{1} << 40;
inline constexpr std::uint64_t kMaxRowBytes = std::uint64_t{1} << 30;  // what compressors take at once
inline constexpr std::uint64_t kBandBytes = 32768;

/// Where everything stands.
struct ArrayLayout {
  static constexpr std::size_t kHeaderBytes = 48;
  static constexpr std::size_t kDirectoryEntry = 16;

  /// For an array that is to be encoded. Requires at most kMaxArrayBytes, and kMaxRowBytes of a row.
  ArrayLayout(FormId made_as, ByteFilter with, const ArrayShape& array) noexcept;
  /// The layout of an encoded array, all of it checked but for the bands' content. kCorrupt says what is wrong.
  static Result<ArrayLayout> parse(std::span<const std::uint8_t> entry);

  std::uint64_t bands_down() const noexcept { return shape.rows == 0 ? 0 : (shape.rows + band_rows - 1) / band_rows; }
  std::uint64_t bands() const noexcept { return shape.planes * bands_down(); }
  std::uint64_t rows_of(std::uint64_t band_down) const noexcept {
    return std::min(band_rows, shape.rows - band_down * band_rows);
  }
  std::size_t content_at() const noexcept { return kHeaderBytes + kDirectoryEntry * static_cast<std::size_t>(bands()); }
  /// The most that an encoded array takes.
  std::size_t bound() const noexcept { return content_at() + static_cast<std::size_t>(shape.bytes()); }

  /// Writes the header, once the directory stands.
  void write(std::span<std::uint8_t> entry) const noexcept;

  FormId form;
  ByteFilter filter;
  ArrayShape shape;
  std::uint64_t band_rows = 1;
};

/// An entry of the directory.
struct Band {
  std::uint64_t end = 0;  // behind the directory
  std::uint64_t sum = 0;
};
Band read_band(std::span<const std::uint8_t> entry, std::uint64_t band) noexcept;
void write_band(std::span<std::uint8_t> entry, std::uint64_t band, const Band& value) noexcept;
std::uint64_t checksum(std::span<const std::uint8_t> bytes) noexcept;

}  // namespace drapps::cache
