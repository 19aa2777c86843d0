#include "drapps/policy/fallback.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "drapps/plant/knob_range.h"

namespace drapps {
namespace {

constexpr double kPlainlySlower = 0.97;           // of the safe pace
constexpr double kOtherMachine = 0.1;             // of the pace, by which it changes while no knob moves
constexpr double kPaceSmooth = 0.5;               // of the way to what a decision's time shows
constexpr std::uint8_t kStoodLong = 3;            // decisions: two times between them
constexpr std::uint64_t kLongTime = 900'000'000;  // ns between two decisions of a slow loader, which are enough
constexpr std::uint8_t kPatience = 3;             // decisions
constexpr std::uint16_t kFirstStay = 16;          // decisions
constexpr std::uint16_t kLongestWay = 64;         // decisions
constexpr std::uint8_t kMostDefeats = 2;          // that are counted: each makes a stay four times as long

double pace_between(const SampleMoment& from, const SampleMoment& to) noexcept {
  if (to.ns <= from.ns || to.samples <= from.samples) return 0;
  return 1e9 * static_cast<double>(to.samples - from.samples) / static_cast<double>(to.ns - from.ns);
}

void measure_pace(const Observation& seen, std::span<const KnobId> knobs, FallbackMemory& own) noexcept {
  const std::uint64_t between = seen.consumer.between_ns;
  const SampleMoment now{.ns = seen.time_ns - std::min(seen.time_ns, between), .samples = seen.samples};
  if (own.last.ns > 0) own.pace += (own.pace > 0 ? kPaceSmooth : 1) * (pace_between(own.last, now) - own.pace);
  own.last = now;
  const bool moved = std::ranges::any_of(knobs, [&](KnobId id) { return own.held[id] != seen.settings[id]; });
  if (moved || own.stood == 0) {
    own.stood = 0;
    own.settled = 0;
    own.since = now;
    own.held = seen.settings;
  }
  if (own.stood < std::numeric_limits<std::uint8_t>::max()) ++own.stood;
}

/// The safe settings as far as the limits allow.
Settings safe_settings(const Observation& seen, const Limits& limits, std::span<const KnobId> knobs,
                       const FallbackMemory& own) noexcept {
  Settings safe = seen.settings;
  for (const KnobId id : knobs) {
    if (limits[id] != Bounds{}) safe[id] = range_of(id, limits).fit(own.safe[id]);
  }
  return safe;
}

FallbackMemory begun_again(const Observation& seen, const FallbackMemory& own) noexcept {
  return {.stood = 1, .since = own.last, .last = own.last, .held = seen.settings};
}

void let_network(FallbackMemory& own) noexcept {
  own.phase = FallbackPhase::kNetwork;
  own.slower = 0;
}

}  // namespace

std::optional<Settings> fall_back(const Observation& seen, const Limits& limits, std::span<const KnobId> knobs,
                                  FallbackMemory& own) noexcept {
  measure_pace(seen, knobs, own);
  if (own.settled > 0 && std::abs(own.pace - own.settled) > kOtherMachine * own.settled) {
    own = begun_again(seen, own);
  }
  const bool measured = own.stood >= kStoodLong || (own.stood > 1 && own.last.ns - own.since.ns >= kLongTime);
  if (measured) own.settled = pace_between(own.since, own.last);
  if (own.phase == FallbackPhase::kMeasures) {
    if (!measured) return seen.settings;
    own.safe = seen.settings;
    own.safe_pace = own.settled;
    let_network(own);
    return std::nullopt;
  }
  const Settings safe = safe_settings(seen, limits, knobs, own);
  const bool there = safe == seen.settings;
  if (own.phase == FallbackPhase::kReturns) {
    if (--own.left == 0) {
      own = begun_again(seen, own);
      return seen.settings;
    }
    if (!there || !measured) return safe;
    if (own.settled < kPlainlySlower * own.safe_pace) {
      own.safe_pace = own.settled;
      let_network(own);
      return std::nullopt;
    }
    own.phase = FallbackPhase::kStays;
    own.left = static_cast<std::uint16_t>(kFirstStay << (2 * own.defeats));
    own.defeats = std::min<std::uint8_t>(own.defeats + 1, kMostDefeats);
    return safe;
  }
  if (measured && (there || own.settled >= own.safe_pace)) {
    own.safe = seen.settings;
    own.safe_pace = own.settled;
  }
  if (own.phase == FallbackPhase::kStays) {
    if (--own.left > 0) return safe;
    let_network(own);
    return std::nullopt;
  }
  const bool slower = !there && own.pace < kPlainlySlower * own.safe_pace;
  own.slower = slower ? static_cast<std::uint8_t>(own.slower + 1) : std::uint8_t{0};
  if (own.slower < kPatience) return std::nullopt;
  own.phase = FallbackPhase::kReturns;
  own.left = kLongestWay;
  return safe;
}

bool is_fallback_memory(const FallbackMemory& memory) noexcept {
  const auto is_pace = [](double pace) { return std::isfinite(pace) && pace >= 0; };
  return memory.phase <= FallbackPhase::kStays && memory.slower <= kPatience && memory.defeats <= kMostDefeats &&
         (memory.phase < FallbackPhase::kReturns || memory.left > 0) && is_pace(memory.pace) &&
         is_pace(memory.settled) && is_pace(memory.safe_pace);
}

}  // namespace drapps
