// Who has the knobs of a learned policy: its network, or settings under which samples were seen to come fast.
//
//   if (const auto safe = fall_back(seen, limits, knobs, memory)) return *safe;  // else the network moves them
//
// 1. The pace with the settings that are in force is measured before the network moves any: between three decisions, or
//    two that are a second apart. They are the safe ones, until others have stood as long and were no slower.
// 2. Where the network's moves have made the pace plainly slower for some decisions, the safe settings are put in force
//    again and measured anew. If the pace comes back with them they stay for a while, four times as long after each
//    further defeat; if it does not the machine has changed, and the network goes on from them.
// 3. A pace that changes while no knob moves is a change of the machine, too, and all begins again.
//
// The same observations give the same settings: nothing is drawn, and no clock is read.
//
// Source: the shield that corrects the actions of a learner, M. Alshiekh et al., "Safe reinforcement learning via
// shielding", AAAI 2018; its rule is a measurement here in the place of a specification.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <type_traits>

#include "drapps/plant/policy.h"

namespace drapps {

/// How far a training has come.
struct SampleMoment {
  std::uint64_t ns;  // without pauses between passes
  std::uint64_t samples;
};

enum class FallbackPhase : std::uint8_t { kMeasures, kNetwork, kReturns, kStays };

/// Plain and trivially copyable; zero bytes are the beginning.
struct FallbackMemory {
  FallbackPhase phase;
  std::uint8_t stood;        // decisions since a knob moved
  std::uint8_t slower;       // decisions in a row, each of them slower than the safe pace
  std::uint8_t defeats;      // of the network since the machine changed
  std::uint16_t left;        // decisions for which the safe settings stay
  SampleMoment since, last;  // since when the settings have stood; at the decision before
  double pace;               // samples/s of the latest decisions
  double settled;            // samples/s since the settings have stood; 0 where they have not stood for long enough
  double safe_pace;
  Settings held, safe;
};
static_assert(std::is_trivially_copyable_v<FallbackMemory>);

/// Takes the next observation in. The settings that are to be in force; nothing where the network has the knobs.
/// @param knobs  that the network moves.
std::optional<Settings> fall_back(const Observation& seen, const Limits& limits, std::span<const KnobId> knobs,
                                  FallbackMemory& memory) noexcept;

/// Whether it is what fall_back() can have left behind.
bool is_fallback_memory(const FallbackMemory& memory) noexcept;

}  // namespace drapps
