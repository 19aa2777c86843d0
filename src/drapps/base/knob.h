// The knob table: every number that the control plane may move, described once.
//
// A knob takes the values of its grid up to its budget, and the budget itself (plant/knob_range.h); one notch is one
// place in that list.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "drapps/base/lane.h"

namespace drapps {

enum class KnobId : std::uint8_t { kWorkers, kIoDepth, kPrefetchDepth, kFused };
inline constexpr std::size_t kKnobs = 4;

/// Fast knobs move at most one notch every half second or four batches, whichever is later;
/// slow ones every ten seconds or more.
enum class KnobClock : std::uint8_t { kFast, kSlow };

struct Knob {
  KnobId id;
  std::string_view name;
  std::string_view unit;
  std::span<const std::int32_t> grid;  // ascending
  KnobClock clock;
};

/// The table, in the order of KnobId.
const std::array<Knob, kKnobs>& knob_table() noexcept;

/// Place of the largest grid value <= `value` (the first where all are larger).
std::size_t notch_of(const Knob& knob, std::int32_t value) noexcept;

/// A full set of knob values. `lane_weights` are sixteenths for the CPU lanes of a split plan, zero
/// for lanes the plan does not have; moving a notch takes 1/16 from one lane and gives it to another.
struct Settings {
  std::array<std::int32_t, kKnobs> knobs{};
  std::array<std::int32_t, kLaneRoles> lane_weights{};

  std::int32_t& operator[](KnobId id) noexcept { return knobs[static_cast<std::size_t>(id)]; }
  std::int32_t operator[](KnobId id) const noexcept { return knobs[static_cast<std::size_t>(id)]; }
  bool operator==(const Settings&) const = default;
};

}  // namespace drapps
