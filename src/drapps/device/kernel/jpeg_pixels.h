// Planes of samples become pixels: chroma upsampled as kernel/jpeg/upsample.h promises it, colours as kernel/jpeg/ycc.h
// does. A body: see body.h. Which chroma is smoothed, and where its planes end, the host says (decode/jpeg/part.h).
#pragma once

#include <cstdint>

#include "drapps/device/kernel/jpeg_planes.h"

namespace drapps::device {

/// The part of a picture that is wanted, and where its pixels go.
struct JpegPicture {
  std::int32_t plane = 0;             // number of the first of its planes
  std::int32_t components = 0;        // that pixels are made of: 1 or 3
  std::int32_t across = 1, down = 1;  // pixels to a sample of chroma
  std::int32_t smooth_across = 0, smooth_down = 0;
  std::int32_t chroma_height = 0, chroma_width = 0;  // of the whole picture
  std::int32_t top = 0, left = 0, height = 0, width = 0;
  std::int64_t first_row = 0;  // of its pixels, among the rows of all pictures
};

struct JpegPixelsArguments {
  const JpegPlane* planes = nullptr;
  const std::uint8_t* samples = nullptr;
  const JpegPicture* pictures = nullptr;
  const JpegTile* tiles = nullptr;  // one for each block of threads, of pictures
  std::uint8_t* pixels = nullptr;
  std::int64_t channel_stride = 0, row_stride = 0, pixel_stride = 0;  // bytes
  std::int32_t channels = 0;                                          // 1 (gray) or 3 (RGB, or gray three times)
};

struct JpegPixels {
  using Arguments = JpegPixelsArguments;
  struct Shared {
    std::uint8_t none;
  };
  static constexpr std::int32_t kThreads = 256;
  static constexpr std::int32_t kPhases = 1;
  static constexpr std::int32_t kPixels = 4 * kThreads;  // that a block of threads makes

  template <std::int32_t kPhase>
  static void phase(const Arguments& a, Shared& /*shared*/, std::int32_t block, std::int32_t thread) {
    const JpegTile tile = a.tiles[block];
    const JpegPicture& picture = a.pictures[tile.of];
    const std::int32_t end = picture.height * picture.width;
    for (std::int32_t at = tile.first + thread; at < tile.first + kPixels && at < end; at += kThreads) {
      make(a, picture, at / picture.width, at % picture.width);
    }
  }

  static std::int32_t sample(const Arguments& a, const JpegPlane& plane, std::int32_t y, std::int32_t x) {
    return a.samples[plane.samples + std::int64_t{y - plane.top} * plane.across * 8 + (x - plane.left)];
  }

  /// The level of a component of chroma at a pixel of the picture.
  static std::int32_t chroma(const Arguments& a, const JpegPicture& picture, const JpegPlane& plane, std::int32_t y,
                             std::int32_t x) {
    const std::int32_t row = y / picture.down;
    const std::int32_t column = x / picture.across;
    if (picture.smooth_across == 0 && picture.smooth_down == 0) return sample(a, plane, row, column);
    const std::int32_t row_step = y % 2 != 0 ? 1 : -1;
    const std::int32_t column_step = x % 2 != 0 ? 1 : -1;
    const std::int32_t far_row = clamped(row + row_step, picture.chroma_height - 1);
    const std::int32_t next_column = clamped(column + column_step, picture.chroma_width - 1);
    if (picture.smooth_down == 0) {
      return (3 * sample(a, plane, row, column) + sample(a, plane, row, next_column) + (x % 2 != 0 ? 2 : 1)) >> 2;
    }
    const std::int32_t here = 3 * sample(a, plane, row, column) + sample(a, plane, far_row, column);
    if (picture.smooth_across == 0) return (here + (y % 2 != 0 ? 2 : 1)) >> 2;
    const std::int32_t next = 3 * sample(a, plane, row, next_column) + sample(a, plane, far_row, next_column);
    return (3 * here + next + (x % 2 != 0 ? 7 : 8)) >> 4;
  }

  static constexpr std::int32_t clamped(std::int32_t x, std::int32_t last) { return x < 0 ? 0 : x > last ? last : x; }

  static void make(const Arguments& a, const JpegPicture& picture, std::int32_t row, std::int32_t column) {
    const JpegPlane* planes = a.planes + picture.plane;
    const std::int32_t y = picture.top + row;
    const std::int32_t x = picture.left + column;
    const std::int32_t luma = sample(a, planes[0], y, x);
    std::int32_t rgb[3] = {luma, luma, luma};
    if (picture.components == 3) {
      const std::int32_t cb = chroma(a, picture, planes[1], y, x) - 128;
      const std::int32_t cr = chroma(a, picture, planes[2], y, x) - 128;
      rgb[0] = clamped(luma + ((91881 * cr + 32768) >> 16), 255);
      rgb[1] = clamped(luma + ((-22554 * cb - 46802 * cr + 32768) >> 16), 255);
      rgb[2] = clamped(luma + ((116130 * cb + 32768) >> 16), 255);
      // Pillow's convert("L").
      if (a.channels == 1) rgb[0] = (19595 * rgb[0] + 38470 * rgb[1] + 7471 * rgb[2] + 32768) >> 16;
    }
    std::uint8_t* const out = a.pixels + (picture.first_row + row) * a.row_stride + column * a.pixel_stride;
    for (std::int32_t c = 0; c < a.channels; ++c) out[c * a.channel_stride] = static_cast<std::uint8_t>(rgb[c]);
  }
};

}  // namespace drapps::device
