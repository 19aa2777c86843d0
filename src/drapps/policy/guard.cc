#include "drapps/policy/guard.h"

#include <algorithm>
#include <type_traits>

#include "drapps/plant/knob_range.h"

namespace drapps {
namespace {

constexpr std::uint32_t kWeightsCoolDown = 2;

}  // namespace

template <class G, class Visit>
void Guard::visit_memory(G& guard, const Visit& visit) {
  const auto visit_clock = [&](auto& clock) {
    visit(clock.moved);
    visit(clock.time_ns);
    visit(clock.batches);
    visit(clock.samples);
    visit(clock.epoch);
  };
  for (auto& clock : guard.clocks_) visit_clock(clock);
  visit_clock(guard.weights_clock_);
  visit(guard.epoch_);
  visit(guard.epoch_time_ns_);
  visit(guard.epoch_batches_);
  visit(guard.rest_until_);
  visit(guard.last_fault_);
  guard.signals_.visit_memory(visit);
}

std::vector<std::uint64_t> Guard::save() const {
  std::vector<std::uint64_t> words;
  visit_memory(*this, [&](const auto& value) { words.push_back(static_cast<std::uint64_t>(value)); });
  return words;
}

bool Guard::restore(std::span<const std::uint64_t> saved) noexcept {
  Guard read(limits_);
  std::size_t at = 0;
  bool fits = true;
  visit_memory(read, [&]<class T>(T& value) {
    const std::uint64_t word = at < saved.size() ? saved[at] : 0;
    ++at;
    if constexpr (std::is_same_v<T, bool>) {
      fits = fits && word <= 1;
      value = word == 1;
    } else if constexpr (std::is_same_v<T, Hold>) {
      fits = fits && word < kHolds;
      value = word < kHolds ? static_cast<Hold>(word) : Hold::kNone;
    } else {
      value = word;
    }
  });
  if (!fits || at != saved.size()) return false;
  *this = read;
  return true;
}

Decision Guard::rule(const Observation& observation, const Settings& proposed, std::uint64_t now_ns, Way way) noexcept {
  Decision decision{.time_ns = observation.time_ns, .before = observation.settings, .proposed = proposed};
  const Hold fault = check(observation, now_ns, decision);
  decision.applied = fit_settings(observation.settings, limits_);

  for (const Knob& knob : knob_table()) {
    const auto i = static_cast<std::size_t>(knob.id);
    const std::int32_t wanted = proposed[knob.id];
    std::int32_t& value = decision.applied[knob.id];
    Hold& hold = decision.holds[i];
    if (value != decision.before[knob.id]) {
      moved(clocks_[i], observation);
      hold = value == wanted ? Hold::kNone : Hold::kBudget;
      continue;
    }
    if (value == wanted) continue;
    const KnobRange range(knob, limits_);
    const std::int32_t target = range.fit(wanted);
    if (target == value) {
      hold = range.contains(wanted) ? Hold::kNotch : Hold::kBudget;
    } else if (fault != Hold::kNone) {
      hold = fault;
    } else {
      if (way == Way::kStepwise) hold = may_move(clocks_[i], knob.clock, knob.cool_down, observation);
      if (hold != Hold::kNone) continue;
      value = way == Way::kAtOnce ? target : stepped(knob, value, target);
      moved(clocks_[i], observation);
      if (value != wanted) hold = value == target ? Hold::kBudget : Hold::kNotch;
    }
  }

  if (decision.applied.lane_weights != decision.before.lane_weights) {
    moved(weights_clock_, observation);
    decision.weights_hold = decision.applied.lane_weights == proposed.lane_weights ? Hold::kNone : Hold::kBudget;
  } else if (decision.applied.lane_weights != proposed.lane_weights) {
    decision.weights_hold = fault != Hold::kNone ? fault : move_weights(decision.applied, proposed, observation, way);
  }
  return decision;
}

Hold Guard::check(const Observation& observation, std::uint64_t now_ns, Decision& decision) noexcept {
  const bool first = !signals_.seen();
  const Hold fault = decision.signals = signals_.check(observation, now_ns, decision.fault);
  if (fault == Hold::kBroken || first) {
    // A clock that ran backwards cannot be compared with: every wait starts again from here.
    epoch_time_ns_ = observation.time_ns;
    epoch_batches_ = observation.batches;
    const auto restart = [&](Clock& clock) {
      clock.time_ns = observation.time_ns;
      clock.batches = observation.batches;
      clock.samples = observation.samples;
    };
    std::for_each(clocks_.begin(), clocks_.end(), restart);
    restart(weights_clock_);
  } else if (fault == Hold::kNone) {
    count_epoch(observation);
  }
  if (fault != Hold::kNone) {
    last_fault_ = fault;
    rest_until_ = epoch_ + kRestEpochs;
    return fault;
  }
  return epoch_ < rest_until_ ? last_fault_ : Hold::kNone;
}

void Guard::count_epoch(const Observation& observation) noexcept {
  if (observation.time_ns - epoch_time_ns_ < kFastClock.period_ns) return;
  if (observation.batches - epoch_batches_ < kFastClock.count) return;
  ++epoch_;
  epoch_time_ns_ = observation.time_ns;
  epoch_batches_ = observation.batches;
}

/// Where a knob is after a step towards the target, which is another value.
std::int32_t Guard::stepped(const Knob& knob, std::int32_t value, std::int32_t target) const noexcept {
  const bool first = !clocks_[static_cast<std::size_t>(knob.id)].moved;
  if (knob.step == KnobStep::kAny || (knob.step == KnobStep::kStart && first)) return target;
  const KnobRange range(knob, limits_);
  return target > value ? range.up(value) : range.down(value);
}

Hold Guard::may_move(const Clock& clock, const KnobClock& due, std::uint32_t cool_down,
                     const Observation& observation) const noexcept {
  if (!clock.moved) return Hold::kNone;
  const std::uint64_t counted =
      due.counted == Counted::kSamples ? observation.samples - clock.samples : observation.batches - clock.batches;
  if (observation.time_ns - clock.time_ns < due.period_ns || counted < due.count) return Hold::kClock;
  return epoch_ - clock.epoch < cool_down ? Hold::kCoolDown : Hold::kNone;
}

void Guard::moved(Clock& clock, const Observation& observation) const noexcept {
  clock = {.moved = true,
           .time_ns = observation.time_ns,
           .batches = observation.batches,
           .samples = observation.samples,
           .epoch = epoch_};
}

Hold Guard::move_weights(Settings& settings, const Settings& proposed, const Observation& observation,
                         Way way) noexcept {
  if (way == Way::kAtOnce && weights_fit(proposed.lane_weights, limits_.weighted)) {
    settings.lane_weights = proposed.lane_weights;
    moved(weights_clock_, observation);
    return Hold::kNone;
  }
  std::size_t from = kLanes.size();
  std::size_t to = kLanes.size();
  const auto surplus = [&](std::size_t lane) {
    return std::int64_t{settings.lane_weights[lane]} - proposed.lane_weights[lane];
  };
  for (std::size_t lane = 0; lane < kLanes.size(); ++lane) {
    if (!limits_.weighted[lane]) continue;
    const bool may_give = settings.lane_weights[lane] > 1 && surplus(lane) > 0;
    if (may_give && (from == kLanes.size() || surplus(lane) > surplus(from))) from = lane;
    if (surplus(lane) < 0 && (to == kLanes.size() || surplus(lane) < surplus(to))) to = lane;
  }
  if (from == kLanes.size() || to == kLanes.size()) return Hold::kBudget;
  const Hold hold = may_move(weights_clock_, kFastClock, kWeightsCoolDown, observation);
  if (hold != Hold::kNone) return hold;
  --settings.lane_weights[from];
  ++settings.lane_weights[to];
  moved(weights_clock_, observation);
  return settings.lane_weights == proposed.lane_weights ? Hold::kNone : Hold::kNotch;
}

}  // namespace drapps
