// Rows of a finished column joined each with the one before it, the first with the last: MixUp's blend, or CutMix's
// box, as batch/mix.h has them, in place. A body: see body.h.
//
// A thread goes through all rows at one element, from the last up, so that each row meets the one before it as it was.
#pragma once

#include <bit>
#include <cstdint>

#include "drapps/device/kernel/erase.h"

namespace drapps::device {

struct MixArguments {
  std::uint8_t* rows = nullptr;
  std::int64_t row_bytes = 0;
  std::int64_t count = 0;          // rows
  std::int64_t elements = 0;       // of a row that are joined
  std::int32_t element_bytes = 4;  // of floats, or of bfloat16 where it is 2
  std::int32_t cut = 0;  // elements are those of a box, and become those of the row before; else rows are blended
  float own_share = 1, before_share = 0;
  std::int32_t interleaved = 0, channels = 0, height = 0, width = 0;  // of a row that is cut
  std::int32_t box_top = 0, box_left = 0, box_height = 0, box_width = 0;
};

struct MixPixels {
  using Arguments = MixArguments;
  struct Shared {
    std::uint8_t none;
  };
  static constexpr std::int32_t kThreads = 128;
  static constexpr std::int32_t kPhases = 1;
  static constexpr std::int32_t kAhead = 8;  // rows that are asked of memory at a time

  static constexpr std::int64_t blocks(const Arguments& a) { return (a.elements + kThreads - 1) / kThreads; }

  template <std::int32_t kPhase>
  static void phase(const Arguments& a, Shared& /*shared*/, std::int32_t block, std::int32_t thread) {
    const std::int64_t i = static_cast<std::int64_t>(block) * kThreads + thread;
    if (i >= a.elements) return;
    const std::int64_t at = a.cut != 0 ? in_box(a, i) : i;
    switch (a.element_bytes) {
      case 8: return go<std::uint64_t>(a, at);
      case 4: return go<std::uint32_t>(a, at);
      case 2: return go<std::uint16_t>(a, at);
      default: return go<std::uint8_t>(a, at);
    }
  }

  /// Which element of a row is element i of the box.
  static std::int64_t in_box(const Arguments& a, std::int64_t i) {
    const std::int64_t depth = a.interleaved != 0 ? a.channels : 1;
    const std::int64_t channel = i % depth;
    const std::int64_t x = i / depth % a.box_width + a.box_left;
    const std::int64_t line = i / depth / a.box_width;
    const std::int64_t y = line % a.box_height + a.box_top;
    const std::int64_t plane = line / a.box_height;
    return ((plane * a.height + y) * a.width + x) * depth + channel;
  }

  template <class Element>
  static void go(const Arguments& a, std::int64_t at) {
    const auto place = [&a, at](std::int64_t row) {
      return reinterpret_cast<Element*>(a.rows + row * a.row_bytes) + at;
    };
    const Element last = *place(a.count - 1);
    Element own = last;
    std::int64_t row = a.count - 1;
    while (row > 0) {
      Element before[kAhead];
      const std::int32_t ahead = static_cast<std::int32_t>(row < kAhead ? row : kAhead);
      for (std::int32_t i = 0; i < ahead; ++i) before[i] = *place(row - 1 - i);
      for (std::int32_t i = 0; i < ahead; ++i, --row) {
        *place(row) = joined(a, own, before[i]);
        own = before[i];
      }
    }
    *place(0) = joined(a, own, last);
  }

  template <class Element>
  static Element joined(const Arguments& a, Element own, Element before) {
    if (a.cut != 0) return before;
    if constexpr (sizeof(Element) == 4) {
      const float blend = std::bit_cast<float>(before) * a.before_share + std::bit_cast<float>(own) * a.own_share;
      return std::bit_cast<std::uint32_t>(blend);
    } else if constexpr (sizeof(Element) == 2) {
      const float first = widened(narrowed(widened(before) * a.before_share));
      return narrowed(first + widened(narrowed(widened(own) * a.own_share)));
    } else {
      return before;  // integers have no fractions
    }
  }

  static float widened(std::uint16_t bits) { return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16); }
  /// To the nearest bfloat16, ties to even.
  static std::uint16_t narrowed(float value) {
    return static_cast<std::uint16_t>(element_of(value, Number::kBfloat16));
  }
};

}  // namespace drapps::device
