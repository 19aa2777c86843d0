// Pictures that a resize reads which is not the first, or stands behind a change of colours: bytes, plane after plane,
// each of its own size. A body: see body.h.
#pragma once

#include <cstdint>

#include "drapps/device/kernel/picture_stages.h"
#include "drapps/device/kernel/tiles.h"

namespace drapps::device {

struct KeepArguments {
  AugmentArguments augment;            // whose work is that of these pictures
  std::int32_t height = 0, width = 0;  // that none of them exceeds
};

struct Keep {
  using Arguments = KeepArguments;
  using Shared = TileLines;
  static constexpr std::int32_t kThreads = Tile::kThreads;
  static constexpr std::int32_t kPhases = 3;

  static constexpr std::int64_t blocks(const Arguments& a, std::int64_t pictures) {
    return pictures * Tile::count(a.height, a.width);
  }

  template <std::int32_t kPhase>
  static void phase(const Arguments& a, Shared& shared, std::int32_t block, std::int32_t thread) {
    const Tile tile(a.height, a.width, block);
    const PictureStages picture = PictureStages::to_keep(a.augment, tile.picture);
    if constexpr (kPhase == 0) {
      if (thread == 0) shared.find(tile, picture, picture.channels());
    } else if constexpr (kPhase == 1) {
      shared.fill(tile, picture, picture.channels(), thread);
    } else {
      const std::int32_t y = tile.first[0] + thread / Tile::kSides[1];
      const std::int32_t x = tile.first[1] + thread % Tile::kSides[1];
      if (y >= picture.side(0) || x >= picture.side(1)) return;
      const PictureWork& work = a.augment.work[tile.picture];
      const Pixel pixel = shared.pixel(tile, picture, picture.channels(), y, x);
      const std::int64_t plane = static_cast<std::int64_t>(work.made_rows) * work.made_columns;
      std::uint8_t* const out = a.augment.kept + work.offset + static_cast<std::int64_t>(y) * work.made_columns + x;
      const std::int32_t channels = work.made_channels > 0 ? work.made_channels : picture.channels();
      for (std::int32_t c = 0; c < channels; ++c) out[c * plane] = static_cast<std::uint8_t>(pixel.levels[c]);
    }
  }
};

}  // namespace drapps::device
