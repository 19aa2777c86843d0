// The knob table: every number that the control plane may move, described once.
//
// A knob takes the values of its grid up to its budget, and the budget itself (plant/knob_range.h); one notch is one
// place in that list.
#pragma once

#include <array>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "drapps/base/lane.h"

namespace drapps {

enum class KnobId : std::uint8_t {
  kWorkers,
  kIoDepth,
  kPrefetchDepth,
  kFused,
  kProcesses,
  kDecodeOnGpu,
  kAugmentOnGpu,
  kForm,
  kRemoteWorkers,
};
inline constexpr std::size_t kKnobs = 9;

enum class Counted : std::uint8_t { kBatches, kSamples };

/// A knob moves at most once in `period_ns`, and once in `count` batches or samples, whichever is later.
struct KnobClock {
  std::uint64_t period_ns = 0;
  std::uint64_t count = 0;
  Counted counted = Counted::kBatches;
  bool operator==(const KnobClock&) const = default;
};
inline constexpr KnobClock kFastClock{.period_ns = 500'000'000, .count = 4};
inline constexpr KnobClock kSlowClock{.period_ns = 10'000'000'000};

enum class KnobStep : std::uint8_t {
  kNotch,  // one place in the list
  kStart,  // any number of places in the knob's first move, then one
  kAny,    // always any number of places, and to any value between
};

struct Knob {
  KnobId id;
  std::string_view name;
  std::string_view unit;
  std::span<const std::int32_t> grid;  // ascending
  KnobClock clock;
  KnobStep step;
  std::uint32_t cool_down;  // decisions, the next one included, in which the knob rests after a move
  bool ordered = true;      // false: the grid's values are names of things, none between two others
};

/// Which knobs somebody has: threads of this process that run a plan, or worker processes that run Python code.
using KnobSet = std::bitset<kKnobs>;
inline constexpr KnobSet kThreadKnobs{0b0000'01111};
inline constexpr KnobSet kProcessKnobs{0b0000'10000};

/// The table, in the order of KnobId.
const std::array<Knob, kKnobs>& knob_table() noexcept;

/// Place of the largest grid value <= `value` (the first where all are larger).
std::size_t notch_of(const Knob& knob, std::int32_t value) noexcept;

/// A full set of knob values. `lane_weights` are sixteenths for the CPU lanes of a split plan, zero
/// for lanes the plan does not have; moving a notch takes 1/16 from one lane and gives it to another.
struct Settings {
  std::array<std::int32_t, kKnobs> knobs{};
  LaneWeights lane_weights{};

  std::int32_t& operator[](KnobId id) noexcept { return knobs[static_cast<std::size_t>(id)]; }
  std::int32_t operator[](KnobId id) const noexcept { return knobs[static_cast<std::size_t>(id)]; }
  bool operator==(const Settings&) const = default;
};

}  // namespace drapps
