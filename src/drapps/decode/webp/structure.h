// The structural check of a WebP file by libwebpdemux, which Pillow asks too.
#pragma once

#include <cstdint>
#include <span>

#include "drapps/base/result.h"
#include "drapps/decode/types.h"

namespace drapps::webp {

/// What decoding needs to know. An animation is read as its first frame on a black canvas, as Pillow does.
struct WebpPicture {
  Extent canvas;
  Rect frame;                          // where the decoded picture stands on the canvas
  std::span<const std::uint8_t> data;  // what libwebp decodes: the picture's chunks, the first frame's of an animation
  bool alpha = false;
  std::uint8_t orientation = 1;
};

/// kTruncated where the file is shorter than its RIFF header says; what follows the RIFF data does not matter. The
/// demuxer takes a little memory from malloc.
Result<WebpPicture> read_structure(std::span<const std::uint8_t> bytes, const DecodeOptions& options);

/// read_structure() in the words of Decoder::inspect().
Result<ImageInfo> inspect(std::span<const std::uint8_t> bytes, const DecodeOptions& options);

}  // namespace drapps::webp
