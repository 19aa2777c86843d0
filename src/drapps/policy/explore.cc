#include "drapps/policy/explore.h"

#include "drapps/base/philox.h"
#include "drapps/plant/knob_range.h"

namespace drapps {
namespace {

struct NotchMove {
  KnobId id = KnobId::kWorkers;
  std::int32_t value = 0;
  bool up = false;
};

}  // namespace

Settings Explore::decide(const Observation& observation, PolicyState& state) const {
  const auto turn = state.load<std::uint64_t>();
  state.store(turn + 1);
  std::array<NotchMove, 2 * kKnobs> moves;
  std::uint32_t count = 0;
  for (const Knob& knob : knob_table()) {
    if (!knob.ordered || knob.clock == kSlowClock) continue;
    const KnobRange range(knob, state.limits);
    const std::int32_t now = observation.settings[knob.id];
    if (now < range.high()) moves[count++] = {knob.id, range.up(now), true};
    if (now > range.low()) moves[count++] = {knob.id, range.down(now), false};
  }
  Settings settings = observation.settings;
  Draws draws({.seed = seed_, .position = turn}, 1);
  if (count == 0 || !draws.coin(share_)) {
    state.say("drawn: nothing moves, probability %.4f", count == 0 ? 1 : 1 - share_);
    return settings;
  }
  const NotchMove& move = moves[draws.below(count)];
  settings[move.id] = move.value;
  state.say("drawn: %s %s, probability %.4f", knob_table()[static_cast<std::size_t>(move.id)].name.data(),
            move.up ? "up" : "down", share_ / count);
  return settings;
}

}  // namespace drapps
