// What a compressed picture is and how it is to be read: the words that every decoder shares.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "drapps/base/error.h"
#include "drapps/data/image.h"
#include "drapps/data/picture.h"

namespace drapps {

/// kCoefficients is a JPEG without its Huffman codes: see jpeg/coefficients.h.
enum class ImageFormat : std::uint8_t { kJpeg, kPng, kWebp, kCoefficients };

/// kRgb gives three planes, kGray one; both as Pillow's convert("RGB") and convert("L") do. Transparency is dropped.
/// kIndices is for masks: one plane of the numbers that a palette or gray PNG holds, as Pillow's open() shows them;
/// anything else is kUnsupported, because its numbers would not be class ids.
enum class ColorMode : std::uint8_t { kRgb, kGray, kIndices };

/// kIgnore gives the picture as stored (Pillow's Image.open); kApply turns it upright as the EXIF or XMP orientation
/// asks (PIL.ImageOps.exif_transpose). Broken metadata asks for nothing, where Pillow may raise; metadata that a PNG
/// keeps in compressed or "Raw profile" text is not looked at.
enum class ExifMode : std::uint8_t { kIgnore, kApply };

/// What becomes of 16-bit pictures.
enum class DepthMode : std::uint8_t {
  kRaise,  // kUnsupported, because the two ways below give very different pictures
  kClip,   // what Pillow's convert makes: gray above 255 becomes 255, colour keeps the high byte
  kScale,  // the high byte
};

/// Whose arithmetic makes RGB of a CMYK JPEG; the two differ by at most one level.
enum class CmykMode : std::uint8_t { kPillow, kTensorflow };

/// Pillow's MAX_IMAGE_PIXELS: of a larger picture it warns, as of a decompression bomb.
inline constexpr std::int64_t kManyPixels = std::int64_t{1024} * 1024 * 1024 / 4 / 3;
/// The most pixels that Pillow reads: it refuses a larger picture as a decompression bomb.
inline constexpr std::int64_t kMaxPixels = 2 * kManyPixels;

struct DecodeOptions {
  ColorMode color = ColorMode::kRgb;
  ExifMode exif = ExifMode::kIgnore;
  DepthMode depth = DepthMode::kRaise;
  CmykMode cmyk = CmykMode::kPillow;
  std::int64_t max_pixels = kMaxPixels;  // a larger picture is kTooLarge; checked before any memory is taken
};

/// What one look at the file says. It depends on the bytes and the options alone, so a caller may remember it for as
/// long as the file stays the same.
struct ImageInfo {
  ImageFormat format = ImageFormat::kJpeg;
  Extent extent;                      // of the picture as decode() gives it: upright under ExifMode::kApply
  Extent stored;                      // of the picture as the file holds it
  std::uint8_t orientation = 1;       // EXIF orientation 1..8 that decode() undoes; 1 under ExifMode::kIgnore
  std::uint8_t depth = 8;             // bits per channel
  CmykMode cmyk = CmykMode::kPillow;  // that of the options
  bool irregular = false;             // no part of it can be trusted to decode alone: always decoded whole
  bool luma = false;  // one plane of a JPEG in colour is its luma, as libjpeg makes it gray, not that of convert("L")
};

/// An Error of stage kDecode. `message` says what was wrong, then what to do.
inline Error decode_error(ErrorCode code, std::string message, std::int64_t offset = -1) {
  return Error{.code = code, .stage = Stage::kDecode, .message = std::move(message), .offset = offset};
}

}  // namespace drapps
