// The structural check of a PNG file: its chunks, read as Pillow reads them, without inflating the picture.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "drapps/base/result.h"
#include "drapps/decode/types.h"

namespace drapps::png {

/// One chunk of a PNG file. `body` ends where the file does if the chunk claims more.
struct Chunk {
  std::uint32_t type = 0;    // its four letters, the first in the highest byte
  std::uint32_t length = 0;  // as claimed
  std::size_t at = 0;        // place of the body in the file
  std::span<const std::uint8_t> body;
  bool complete() const noexcept { return body.size() == length; }
};

constexpr std::uint32_t chunk_type(const char (&name)[5]) noexcept {
  std::uint32_t type = 0;
  for (int i = 0; i < 4; ++i) type = type << 8 | static_cast<std::uint8_t>(name[i]);
  return type;
}

/// The chunk whose header stands at `at`; nothing where the file ends within the header.
std::optional<Chunk> chunk_at(std::span<const std::uint8_t> bytes, std::size_t at) noexcept;

/// What the rows need to know.
struct PngHeader {
  Extent extent;
  Rect frame;                   // where the picture's data stand; what is around them is zero
  std::uint8_t depth = 0;       // bits per channel
  std::uint8_t color_type = 0;  // 0 gray, 2 RGB, 3 palette, 4 gray and alpha, 6 RGB and alpha
  bool interlaced = false;
  std::size_t data_at = 0;                                 // header of the first data chunk
  std::array<std::array<std::uint8_t, 3>, 256> palette{};  // entries the file lacks are black, as in Pillow
  std::uint8_t orientation = 1;
};

/// The bodies of the chunks that hold the picture, one after the other, each without what is no compressed data.
class DataChunks {
 public:
  DataChunks(std::span<const std::uint8_t> file, const PngHeader& header) noexcept
      : file_(file), next_(header.data_at) {}

  /// The next body; nothing behind the last one.
  std::optional<std::span<const std::uint8_t>> next() noexcept;

  /// Place in the file of the body that next() gave last, or, once it has given nothing, of what follows the chunks.
  std::size_t place() const noexcept { return place_; }

 private:
  std::span<const std::uint8_t> file_;
  std::size_t next_;  // header of the next chunk
  std::size_t place_ = 0;
};

/// Reads all chunks. Fails where Pillow does: a chunk before the picture with a wrong checksum, a chunk cut short
/// before or behind the picture, frames of an animation out of order, too much text; a missing end is no failure, nor
/// is a wrong checksum of the picture's own data.
Result<PngHeader> read_header(std::span<const std::uint8_t> bytes, const DecodeOptions& options);

/// read_header() in the words of Decoder::inspect().
Result<ImageInfo> inspect(std::span<const std::uint8_t> bytes, const DecodeOptions& options);

}  // namespace drapps::png
