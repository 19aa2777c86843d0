#include "drapps/source/identity.h"

#define XXH_INLINE_ALL  // NOLINT(readability-identifier-naming): the name is the library's
#include <xxhash.h>

#include <array>
#include <bit>
#include <cstdio>
#include <string_view>

#include "drapps/storage/location.h"
#include "drapps/storage/shard.h"

namespace drapps {
namespace {

static_assert(std::endian::native == std::endian::little);

class IdentityHash {
 public:
  explicit IdentityHash(std::string_view tag) noexcept {
    XXH3_128bits_reset(&state_);
    add(tag);
  }

  void add(const void* data, std::size_t bytes) noexcept { XXH3_128bits_update(&state_, data, bytes); }
  /// Adds a text with its length before it, so that what follows is not taken for a part of it.
  void add(std::string_view text) noexcept {
    add_number(text.size());
    add(text.data(), text.size());
  }
  void add_number(std::uint64_t number) noexcept { add(&number, sizeof number); }

  void add_pixels(const PixelLayout& layout, const std::uint8_t* first) noexcept {
    add_number(static_cast<std::uint64_t>(layout.channels));
    add_number(static_cast<std::uint64_t>(layout.extent.height));
    add_number(static_cast<std::uint64_t>(layout.extent.width));
    for (std::int32_t c = 0; c < layout.channels; ++c) {
      for (std::int32_t y = 0; y < layout.extent.height; ++y) {
        add_line(first + c * layout.channel_stride + y * layout.row_stride, layout.pixel_stride, layout.extent.width);
      }
    }
  }

  RecordIdentity done() const noexcept {
    const XXH128_hash_t hash = XXH3_128bits_digest(&state_);
    return {hash.high64, hash.low64};
  }

 private:
  void add_line(const std::uint8_t* line, std::ptrdiff_t stride, std::int32_t width) noexcept {
    if (stride == 1) return add(line, static_cast<std::size_t>(width));
    std::array<std::uint8_t, 256> some;
    std::size_t count = 0;
    for (std::int32_t x = 0; x < width; ++x) {
      some[count++] = line[x * stride];
      if (count < some.size() && x + 1 < width) continue;
      add(some.data(), count);
      count = 0;
    }
  }

  XXH3_state_t state_;
};

}  // namespace

std::string to_string(const RecordIdentity& identity) {
  std::array<char, 33> text;
  std::snprintf(text.data(), text.size(), "%016llx%016llx", static_cast<unsigned long long>(identity.high),
                static_cast<unsigned long long>(identity.low));
  return text.data();
}

RecordIdentity identity_of(const Location& location) noexcept {
  if (location.path == nullptr && location.contents.decoded) {
    IdentityHash hash("decoded");
    hash.add_number(location.contents.ops);
    hash.add_pixels(location.contents.layout, location.bytes.data());
    return hash.done();
  }
  if (location.path == nullptr) {
    IdentityHash hash("bytes");
    hash.add(location.bytes.data(), location.bytes.size());
    return hash.done();
  }
  IdentityHash hash(location.shard == nullptr ? "file" : "range");
  hash.add(location.path);
  if (location.shard != nullptr) {
    hash.add_number(location.shard->identity().size);
    hash.add_number(static_cast<std::uint64_t>(location.shard->identity().mtime_ns));
    hash.add_number(location.offset);
    hash.add_number(location.length);
  }
  return hash.done();
}

RecordIdentity identity_of(std::string_view text) noexcept {
  IdentityHash hash("text");
  hash.add(text);
  return hash.done();
}

RecordIdentity identity_of(std::span<const Array> arrays, const PictureArray* picture, std::uint64_t row) noexcept {
  IdentityHash hash("row");
  if (picture != nullptr) hash.add_pixels(picture->layout, picture->row(row));
  for (const Array& array : arrays) {
    hash.add(name_of(array.dtype));
    hash.add_number(array.row_shape.size());
    for (const std::int64_t side : array.row_shape) hash.add_number(static_cast<std::uint64_t>(side));
    hash.add(array.data + static_cast<std::ptrdiff_t>(row) * array.stride, array.row_bytes());
  }
  return hash.done();
}

}  // namespace drapps
