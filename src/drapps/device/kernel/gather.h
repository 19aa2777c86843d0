// Rows of an array, picked by number and laid one after another, as kernel/gather.h does it. A body: see body.h.
#pragma once

#include <cstdint>

namespace drapps::device {

struct GatherArguments {
  const std::uint8_t* in = nullptr;    // row 0
  std::int64_t stride = 0;             // bytes from one row to the next
  const std::int64_t* rows = nullptr;  // [count] numbers
  std::int64_t count = 0;
  std::uint8_t* out = nullptr;
  std::int64_t row_bytes = 0;
  std::int32_t unit = 1;  // 1, 2, 4 or 8 bytes, of which in, stride, out and row_bytes are multiples
};

struct Gather {
  using Arguments = GatherArguments;
  struct Shared {
    std::uint8_t none;
  };
  static constexpr std::int32_t kThreads = 256;
  static constexpr std::int32_t kPhases = 1;
  static constexpr std::int32_t kUnits = 4 * kThreads;  // that a block copies

  static constexpr std::int64_t blocks(const Arguments& a) {
    return (a.count * (a.row_bytes / a.unit) + kUnits - 1) / kUnits;
  }

  template <class Unit>
  static void copy(std::uint8_t* out, const std::uint8_t* in) {
    *reinterpret_cast<Unit*>(out) = *reinterpret_cast<const Unit*>(in);
  }

  template <std::int32_t kPhase>
  static void phase(const Arguments& a, Shared& /*shared*/, std::int32_t block, std::int32_t thread) {
    const std::int64_t each = a.row_bytes / a.unit;
    const std::int64_t first = static_cast<std::int64_t>(block) * kUnits;
    for (std::int64_t at = first + thread; at < first + kUnits && at < a.count * each; at += kThreads) {
      const std::uint8_t* in = a.in + a.rows[at / each] * a.stride + at % each * a.unit;
      std::uint8_t* out = a.out + at * a.unit;
      switch (a.unit) {
        case 8: copy<std::uint64_t>(out, in); break;
        case 4: copy<std::uint32_t>(out, in); break;
        case 2: copy<std::uint16_t>(out, in); break;
        default: *out = *in; break;
      }
    }
  }
};

}  // namespace drapps::device
