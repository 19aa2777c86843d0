// Which samples of a pass are offered to a device: so many of each sixteen neighbours in the order, by their positions
// alone. What a device makes of them is what the CPU makes, so the stream knows nothing of it; but a pass that is
// resumed places them as before, and every batch has its share.
#pragma once

#include <cstdint>

#include "drapps/base/knob.h"

namespace drapps {

/// 0 to 15, a different one for each of sixteen neighbours. The numbers below any of them are spread evenly.
constexpr std::int32_t turn_of(std::uint64_t position) noexcept {
  const auto low = static_cast<std::int32_t>(position % 16);
  return (low & 1) << 3 | (low & 2) << 1 | (low & 4) >> 1 | (low & 8) >> 3;
}

inline bool decodes_on_device(std::uint64_t position, const Settings& settings) noexcept {
  return turn_of(position) < settings[KnobId::kDecodeOnGpu];
}

/// Whether a sample that is decoded on the device is augmented there, too.
inline bool augments_on_device(std::uint64_t position, const Settings& settings) noexcept {
  return turn_of(position) < settings[KnobId::kAugmentOnGpu];
}

}  // namespace drapps
