// Pictures made tile by tile: a block has a tile, and a thread a pixel of it.
//
// What the first pass of a resize gives for all lines that the second one reads stands in shared memory; where that is
// too small, the first pass is computed for each tap of the second. The bytes are the same, whatever the tiles.
#pragma once

#include <cstdint>

#include "drapps/device/kernel/picture_stages.h"

namespace drapps::device {

struct Tile {
  static constexpr std::int32_t kSides[2] = {8, 32};  // pixels down and across
  static constexpr std::int32_t kThreads = kSides[0] * kSides[1];

  std::int32_t picture;
  std::int32_t first[2];  // pixel, down and across

  /// @param block  a number among the blocks of pictures of height x width, or smaller ones.
  Tile(std::int32_t height, std::int32_t width, std::int32_t block) {
    const std::int32_t across = tiles(width, kSides[1]);
    const std::int32_t each = tiles(height, kSides[0]) * across;
    picture = block / each;
    first[0] = block % each / across * kSides[0];
    first[1] = block % across * kSides[1];
  }

  static constexpr std::int32_t tiles(std::int32_t side, std::int32_t tile) { return (side + tile - 1) / tile; }
  /// Tiles of a picture.
  static constexpr std::int64_t count(std::int32_t height, std::int32_t width) {
    return std::int64_t{tiles(height, kSides[0])} * tiles(width, kSides[1]);
  }
};

/// The first pass of a tile.
struct TileLines {
  static constexpr std::int32_t kBetween = 16 << 10;
  std::int32_t low;                // the first line of `between`
  std::int32_t lines;              // how many; 0: all is computed where it is read
  std::uint8_t between[kBetween];  // [channels][lines][places of the tile along the first pass]

  /// Which lines there are to be. For one thread.
  void find(const Tile& tile, const PictureStages& picture, std::int32_t channels) {
    low = 0;
    lines = 0;
    if (!picture.has_two_passes()) return;
    const std::int32_t axis = 1 - picture.first_axis();
    std::int32_t least = 0x7FFFFFFF, most = 0;
    for (std::int32_t i = tile.first[axis]; i < tile.first[axis] + Tile::kSides[axis] && i < picture.side(axis); ++i) {
      const std::int32_t b = picture.resized_place(axis, i);
      if (b < 0) continue;
      const std::int32_t first = picture.first_line(b);
      const std::int32_t end = first + picture.lines(b);
      least = first < least ? first : least;
      most = end > most ? end : most;
    }
    const std::int32_t line_bytes = channels * Tile::kSides[1 - axis];
    if (most <= least || most - least > kBetween / line_bytes) return;
    low = least;
    lines = most - least;
  }

  /// Makes a thread's share of the lines, in the phase behind find().
  void fill(const Tile& tile, const PictureStages& picture, std::int32_t channels, std::int32_t thread) {
    const std::int32_t axis = picture.first_axis();
    const std::int32_t across = Tile::kSides[axis];
    for (std::int32_t at = thread; at < channels * lines * across; at += Tile::kThreads) {
      const std::int32_t i = tile.first[axis] + at % across;
      const std::int32_t place = i < picture.side(axis) ? picture.resized_place(axis, i) : -1;
      if (place < 0) continue;
      const std::int32_t line = at / across;
      between[at] = picture.once(line / lines, place, low + line % lines);
    }
  }

  /// The pixel at (y, x), which is in the tile and the picture, in the phase behind fill().
  Pixel pixel(const Tile& tile, const PictureStages& picture, std::int32_t channels, std::int32_t y,
              std::int32_t x) const {
    Pixel result{.levels = {}, .channels = channels};
    const std::int32_t axis = picture.first_axis();
    const std::int32_t across = Tile::kSides[axis];
    const std::int32_t in_tile = (axis == 0 ? y : x) - tile.first[axis];
    const std::int32_t places[2] = {picture.resized_place(0, y), picture.resized_place(1, x)};
    const std::int32_t move = filled(places[0], places[1]);
    for (std::int32_t c = 0; c < 4; ++c) {
      if (move < 0) {
        result.levels[c] = picture.fill(c, move);  // of as many channels as there are behind the move
      } else if (c < channels) {
        const std::uint8_t* const lines_of = lines > 0 ? between + c * lines * across + in_tile : nullptr;
        result.levels[c] = picture.twice(c, places[axis], places[1 - axis], lines_of, low, across);
      }
    }
    picture.change_colors(result, move);
    return result;
  }
};

}  // namespace drapps::device
