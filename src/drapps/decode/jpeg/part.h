// What of a JPEG is decoded for a region of it, wherever that is done.
#pragma once

#include <algorithm>
#include <cstdint>

#include "drapps/data/picture.h"
#include "drapps/decode/jpeg/frame.h"

namespace drapps::jpeg {

struct McuRange {
  std::int32_t begin = 0, end = 0;
  std::int32_t size() const noexcept { return end - begin; }
};

/// The MCUs that pixels of a region are made of, and how its chroma is upsampled.
struct McuPart {
  McuPart(const Frame& frame, const Rect& region) noexcept {
    const auto [across, down] = frame.sampling;
    chroma = {(frame.extent.height + down - 1) / down, (frame.extent.width + across - 1) / across};
    // libjpeg does not smooth across 1 or 2 samples, and then not downwards either.
    smooth_across = across == 2 && chroma.width > 2;
    smooth_down = down == 2 && (across == 1 || smooth_across);
    columns = blocks_of(samples({region.left, region.left + region.width}, across, smooth_across, chroma.width));
    rows = blocks_of(samples({region.top, region.top + region.height}, down, smooth_down, chroma.height));
  }

  Extent chroma;  // of the planes of chroma
  bool smooth_across = false, smooth_down = false;
  McuRange columns, rows;  // MCUs

 private:
  static constexpr McuRange blocks_of(McuRange samples) noexcept {
    return {samples.begin / 8, (samples.end - 1) / 8 + 1};
  }

  /// Samples of chroma that pixels are made of, where `whole` of them are in the picture.
  static McuRange samples(McuRange pixels, std::int32_t factor, bool smooth, std::int32_t whole) noexcept {
    if (!smooth) return {pixels.begin / factor, (pixels.end - 1) / factor + 1};
    return {std::max((pixels.begin - 1) >> 1, 0), std::min(pixels.end / 2 + 1, whole)};
  }
};

}  // namespace drapps::jpeg
