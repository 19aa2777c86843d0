#include "drapps/policy/random_walk.h"

#include "drapps/base/philox.h"
#include "drapps/plant/knob_range.h"

namespace drapps {

Settings RandomWalk::decide(const Observation&, PolicyState& state) const {
  const auto turn = state.load<std::uint64_t>();
  state.store(turn + 1);
  state.why = Reason("random");
  Draws draws({.seed = seed_, .position = turn}, 1);
  const auto below = [&](std::int32_t bound) {
    return static_cast<std::int32_t>(draws.below(static_cast<std::uint32_t>(bound)));
  };
  Settings settings;
  for (const Knob& knob : knob_table()) {
    const KnobRange range(knob, state.limits);
    std::int32_t places = 1;
    for (std::int32_t value = range.low(); value != range.high(); value = range.up(value)) ++places;
    std::int32_t value = range.low();
    for (std::int32_t i = below(places); i > 0; --i) value = range.up(value);
    settings[knob.id] = value;
  }
  // Throw the sixteenths that are free after every lane has its one, each at a random lane.
  const auto lanes = static_cast<std::int32_t>(state.limits.weighted.count());
  for (std::int32_t i = lanes == 0 ? kWeightUnit : 0; i < kWeightUnit; ++i) {
    std::int32_t lucky = i < lanes ? i : below(lanes);
    for (std::size_t lane = 0; lane < kLaneRoles; ++lane) {
      if (state.limits.weighted[lane] && lucky-- == 0) ++settings.lane_weights[lane];
    }
  }
  return settings;
}

}  // namespace drapps
