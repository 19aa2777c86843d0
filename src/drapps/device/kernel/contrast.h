// The mean that a change of contrast blends with: of the gray version of the whole picture, as it is until then. Two
// bodies (see body.h), launched one behind the other for the first contrast of each picture, then for the second, and
// so on: the mean of one is in the picture of the next.
#pragma once

#include <cstdint>

#include "drapps/device/kernel/picture_stages.h"
#include "drapps/device/kernel/tiles.h"

namespace drapps::device {

struct ContrastArguments {
  AugmentArguments augment;
  std::int32_t round = 0;              // which contrast of each picture
  std::int32_t height = 0, width = 0;  // that no such picture exceeds
  std::uint32_t* sums = nullptr;       // [pictures][tiles]
  std::uint8_t* means = nullptr;       // augment.means
};

/// The sum of each tile.
struct ContrastSum {
  using Arguments = ContrastArguments;
  struct Shared {
    TileLines lines;
    std::uint32_t sums[Tile::kThreads];
  };
  static constexpr std::int32_t kThreads = Tile::kThreads;
  static constexpr std::int32_t kPhases = 5;
  static constexpr std::int32_t kEach = 16;  // sums that a thread adds up, twice

  static constexpr std::int64_t blocks(const Arguments& a, std::int64_t pictures) {
    return pictures * Tile::count(a.height, a.width);
  }

  template <std::int32_t kPhase>
  static void phase(const Arguments& a, Shared& shared, std::int32_t block, std::int32_t thread) {
    if constexpr (kPhase >= 3) {
      constexpr std::int32_t kApart = kPhase == 3 ? 1 : kEach;
      if (thread % (kApart * kEach) != 0) return;
      std::uint32_t sum = 0;
      for (std::int32_t i = 0; i < kEach; ++i) sum += shared.sums[thread + i * kApart];
      (kPhase == 3 ? shared.sums[thread] : a.sums[block]) = sum;
    } else {
      const Tile tile(a.height, a.width, block);
      const PictureStages picture = PictureStages::before_contrast(a.augment, tile.picture, a.round);
      const std::int32_t channels = picture.channels();
      if constexpr (kPhase == 0) {
        if (thread == 0) shared.lines.find(tile, picture, channels);
      } else if constexpr (kPhase == 1) {
        shared.lines.fill(tile, picture, channels, thread);
      } else {
        const std::int32_t y = tile.first[0] + thread / Tile::kSides[1];
        const std::int32_t x = tile.first[1] + thread % Tile::kSides[1];
        const bool inside = y < picture.side(0) && x < picture.side(1);
        shared.sums[thread] =
            inside ? static_cast<std::uint32_t>(luma_of(shared.lines.pixel(tile, picture, channels, y, x))) : 0;
      }
    }
  }
};
static_assert(ContrastSum::kEach * ContrastSum::kEach == Tile::kThreads);

/// The mean of each picture.
struct ContrastMean {
  using Arguments = ContrastArguments;
  static constexpr std::int32_t kThreads = 64;
  static constexpr std::int32_t kPhases = 2;
  struct Shared {
    std::uint64_t sums[kThreads];
  };

  template <std::int32_t kPhase>
  static void phase(const Arguments& a, Shared& shared, std::int32_t block, std::int32_t thread) {
    if constexpr (kPhase == 0) {
      const std::int64_t tiles = Tile::count(a.height, a.width);
      std::uint64_t sum = 0;
      for (std::int64_t i = thread; i < tiles; i += kThreads) sum += a.sums[block * tiles + i];
      shared.sums[thread] = sum;
    } else {
      if (thread > 0) return;
      const PictureStages picture = PictureStages::before_contrast(a.augment, block, a.round);
      if (picture.side(0) == 0) return;
      std::uint64_t sum = 0;
      for (const std::uint64_t one : shared.sums) sum += one;
      const double mean = static_cast<double>(sum) / (static_cast<double>(picture.side(1)) * picture.side(0));
      a.means[static_cast<std::int64_t>(block) * a.augment.contrasts + a.round] = static_cast<std::uint8_t>(mean + 0.5);
    }
  }
};

}  // namespace drapps::device
