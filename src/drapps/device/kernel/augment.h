// Pictures of bytes become rows of a batch: cropped, padded, flipped, resized, cropped and flipped once more, their
// colours changed (picture_stages.h), looked up in the table of numbers that normalises and casts, erased in part
// (erase.h), and laid out. A body: see body.h.
//
// One launch does all of it, but for the means that contrasts blend with, which contrast.h makes before, and for what
// is resized once more, which keep.h makes before.
#pragma once

#include <cstdint>

#include "drapps/device/kernel/erase.h"
#include "drapps/device/kernel/picture_stages.h"
#include "drapps/device/kernel/tiles.h"

namespace drapps::device {

struct Augment {
  using Arguments = AugmentArguments;
  using Shared = TileLines;
  static constexpr std::int32_t kThreads = Tile::kThreads;
  static constexpr std::int32_t kPhases = 3;

  static constexpr std::int64_t blocks(const Arguments& a, std::int64_t pictures) {
    return pictures * Tile::count(a.height, a.width);
  }

  template <std::int32_t kPhase>
  static void phase(const Arguments& a, Shared& shared, std::int32_t block, std::int32_t thread) {
    const Tile tile(a.height, a.width, block);
    const PictureStages picture(a, tile.picture);
    if constexpr (kPhase == 0) {
      if (thread == 0) shared.find(tile, picture, picture.channels());
    } else if constexpr (kPhase == 1) {
      shared.fill(tile, picture, picture.channels(), thread);
    } else {
      const std::int32_t y = tile.first[0] + thread / Tile::kSides[1];
      const std::int32_t x = tile.first[1] + thread % Tile::kSides[1];
      if (y < a.height && x < a.width) finish(a, shared.pixel(tile, picture, picture.channels(), y, x), tile, y, x);
    }
  }

  static void finish(const Arguments& a, const Pixel& pixel, const Tile& tile, std::int32_t y, std::int32_t x) {
    const std::int64_t at = static_cast<std::int64_t>(y) * a.width + x;
    const std::int64_t plane = static_cast<std::int64_t>(a.height) * a.width;
    std::uint8_t* const row = a.out + a.work[tile.picture].offset;
    const PictureErasure* const erasure = erasure_at(a, tile.picture, y, x);
    for (std::int32_t c = 0; c < a.channels; ++c) {
      const std::int64_t element = a.interleaved != 0 ? at * a.channels + c : c * plane + at;
      const std::int32_t entry = c * 256 + pixel.levels[c];
      const std::uint64_t bits = erasure != nullptr ? erased(*erasure, a.number, c, y, x) : 0;
      const bool looked_up = erasure == nullptr;
      switch (a.element_bytes) {
        case 8: put<std::uint64_t>(a, row, element, entry, bits, looked_up); break;
        case 4: put<std::uint32_t>(a, row, element, entry, bits, looked_up); break;
        case 2: put<std::uint16_t>(a, row, element, entry, bits, looked_up); break;
        default: put<std::uint8_t>(a, row, element, entry, bits, looked_up);
      }
    }
  }

  template <class Element>
  static void put(const Arguments& a, std::uint8_t* row, std::int64_t element, std::int32_t entry, std::uint64_t bits,
                  bool looked_up) {
    reinterpret_cast<Element*>(row)[element] =
        looked_up ? static_cast<const Element*>(a.table)[entry] : static_cast<Element>(bits);
  }
};

}  // namespace drapps::device
