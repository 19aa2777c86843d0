#include "drapps/policy/hill_climb.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

#include "drapps/plant/knob_range.h"
#include "drapps/policy/start.h"
#include "drapps/policy/step_window.h"

namespace drapps {
namespace {

constexpr double kNoiseErrors = 3;      // a change of the mean step below this many standard errors is no change
constexpr double kPlainlyWorse = 0.15;  // ends a trial early
constexpr double kShift = 0.15;         // of step or stretch: another situation
constexpr double kStalled = 0.03;       // stall from which faster preparation can show
constexpr double kNotStalled = 0.01;
constexpr std::uint32_t kEarlyBlocks = 3;
constexpr std::uint64_t kSettleNs = 1'000'000'000;
constexpr std::uint64_t kSettleMaxNs = 5'000'000'000;

constexpr std::array kOrder{KnobId::kWorkers, KnobId::kProcesses,    KnobId::kPrefetchDepth,
                            KnobId::kIoDepth, KnobId::kDecodeOnGpu,  KnobId::kAugmentOnGpu,
                            KnobId::kFused,   KnobId::kRemoteWorkers};

enum class ClimbPhase : std::uint8_t { kStart, kMeasure, kMove, kTrial, kReturn };

struct Trial {
  std::uint8_t at;        // in kOrder
  std::int8_t direction;  // -1 or +1
  std::int32_t before, value;
  std::uint32_t asked;  // decisions for which the knob has been asked to move
};

/// What the climb remembers. Zero bytes are its beginning.
struct Climb {
  ClimbPhase phase;
  std::uint8_t cursor;                              // the knob to try next, in kOrder
  std::uint8_t strange_windows;                     // in a row that do not look like the reference
  bool holds;                                       // nothing is left to try
  std::uint64_t failed;                             // bit 2·knob: down does not help; bit 2·knob + 1: up does not
  std::array<std::int8_t, kOrder.size()> favoured;  // direction to try first; 0 is up
  Trial trial;
  Settings settings;  // in force while measuring
  std::uint64_t settle_from_ns, settle_from_batches, settle_until_batches;
  StepWindow window;
  StepMeasure base;       // at the settings before the trial
  StepMeasure reference;  // of the present situation; step_ns 0: not measured yet
  double best_ns;         // fastest sample of the present situation: fewer workers are judged against it
  Start start;            // over, whatever it came to, with the first measurement
};
static_assert(std::is_trivially_copyable_v<Climb> && sizeof(Climb) <= kPolicyMemory);
static_assert(2 * kOrder.size() <= std::numeric_limits<decltype(Climb::failed)>::digits);

std::uint64_t bit(std::size_t at, int direction) { return std::uint64_t{1} << (2 * at + (direction > 0 ? 1 : 0)); }

/// Whether the knob counts workers or processes, which make samples: those that do not help are spared.
bool makes(KnobId id) { return id == KnobId::kWorkers || id == KnobId::kProcesses; }

bool apart(double a, double b) { return a > 0 && b > 0 && (a > b * (1 + kShift) || b > a * (1 + kShift)); }

bool shifted(const StepMeasure& now, const StepMeasure& then) {
  return apart(now.sample_ns, then.sample_ns) || apart(now.stretch, then.stretch) ||
         (now.stall >= kStalled && then.stall < kNotStalled) || (now.stall < kNotStalled && then.stall >= kStalled);
}

/// One decision. Gathers the climb's state, the observation and the reason while deciding.
class ClimbDecider {
 public:
  ClimbDecider(const Observation& seen, PolicyState& state, double gain, std::uint32_t patience)
      : seen_(seen), state_(state), gain_(gain), patience_(patience), climb_(state.load<Climb>()) {}

  Settings decide() {
    const Settings proposal = propose();
    const bool measures = climb_.phase == ClimbPhase::kStart || climb_.phase == ClimbPhase::kMeasure;
    state_.trying = !measures ? Trying::kTries : climb_.holds ? Trying::kNot : Trying::kWaits;
    state_.store(climb_);
    return proposal;
  }

 private:
  Settings propose() {
    if (climb_.reference.step_ns == 0) {
      if (const auto settings = start_depths(climb_.start, seen_, state_)) return *settings;
    }
    if (seen_.turn == Turn::kTaken) stand_aside();
    if (climb_.phase == ClimbPhase::kMove || climb_.phase == ClimbPhase::kReturn) return wait_for_the_knob();
    if (climb_.phase == ClimbPhase::kStart || seen_.settings != climb_.settings) return begin_measuring();
    if (settling()) return seen_.settings;
    climb_.window.add(seen_);
    if (climb_.phase == ClimbPhase::kTrial) {
      const bool early = climb_.window.blocks() >= kEarlyBlocks &&
                         climb_.window.measure().sample_ns > climb_.base.sample_ns * (1 + kPlainlyWorse);
      return early || climb_.window.complete() ? judge(climb_.window.measure()) : seen_.settings;
    }
    // A window across a change of situation has a wide error; waiting for it to narrow would only delay the answer.
    const bool strange = climb_.reference.step_ns > 0 && climb_.window.long_enough() &&
                         shifted(climb_.window.measure(), climb_.reference);
    return strange || climb_.window.complete() ? start_trial(climb_.window.measure()) : seen_.settings;
  }

  /// What is seen now is the effect of another loader's trial, and says nothing.
  void stand_aside() {
    climb_.window.restart();
    if (climb_.phase != ClimbPhase::kMove && climb_.phase != ClimbPhase::kTrial) return;
    climb_.phase = ClimbPhase::kReturn;
    climb_.trial.asked = 0;
    state_.say("another loader tries something; %s returns", name(climb_.trial.at));
  }

  Settings begin_measuring() {
    settle(ClimbPhase::kMeasure);
    return seen_.settings;
  }

  Settings wait_for_the_knob() {
    const Trial& trial = climb_.trial;
    const bool trying = climb_.phase == ClimbPhase::kMove;
    const std::int32_t target = trying ? trial.value : trial.before;
    const Knob& knob = knob_table()[static_cast<std::size_t>(kOrder[trial.at])];
    if (seen_.settings[knob.id] == target) {
      settle(trying ? ClimbPhase::kTrial : ClimbPhase::kMeasure);
      return seen_.settings;
    }
    if (++climb_.trial.asked > (knob.clock == kSlowClock ? 2 * patience_ : patience_)) {
      climb_.failed |= bit(trial.at, trial.direction);
      state_.say("%s does not move to %d", knob.name.data(), target);
      return begin_measuring();
    }
    return with(knob.id, target);
  }

  void settle(ClimbPhase next) {
    climb_.phase = next;
    climb_.settings = seen_.settings;
    climb_.settle_from_ns = seen_.time_ns;
    climb_.settle_from_batches = seen_.batches;
    climb_.settle_until_batches = seen_.batches + seen_.ready_batches + 2;
    climb_.window.restart();
    climb_.holds = false;
  }

  bool settling() const {
    // A new plant begins empty: there is nothing old in it to wait for.
    if (seen_.time_ns < climb_.settle_from_ns || seen_.batches < climb_.settle_from_batches) return false;
    const std::uint64_t waited = seen_.time_ns - climb_.settle_from_ns;
    return waited < kSettleNs || (waited < kSettleMaxNs && seen_.batches < climb_.settle_until_batches);
  }

  Settings start_trial(const StepMeasure& now) {
    climb_.window.restart();
    climb_.window.add(seen_);
    if (climb_.reference.step_ns > 0 && shifted(now, climb_.reference)) {
      if (++climb_.strange_windows < 2) return seen_.settings;
      climb_.failed = 0;
      climb_.holds = false;
      climb_.cursor = 0;
      climb_.reference.step_ns = 0;
      state_.say("the situation changed: step %.2f ms, stall %.1f %%, stretch %.2f", now.step_ns * 1e-6,
                 now.stall * 100, now.stretch);
    }
    climb_.strange_windows = 0;
    if (climb_.reference.step_ns == 0) {
      climb_.reference = now;
      climb_.best_ns = now.sample_ns;
    }
    climb_.base = now;
    return next_trial();
  }

  /// From the base measurement to the next (knob, direction) worth trying.
  Settings next_trial() {
    climb_.phase = ClimbPhase::kMeasure;
    climb_.settings = seen_.settings;
    if (seen_.turn != Turn::kOpen) {
      state_.say("lets another loader try something first");
      return seen_.settings;
    }
    for (std::size_t turn = 0; turn < kOrder.size(); ++turn) {
      const std::size_t at = (climb_.cursor + turn) % kOrder.size();
      const int first = climb_.favoured[at] < 0 ? -1 : 1;
      for (const int direction : {first, -first}) {
        const std::int32_t before = seen_.settings[kOrder[at]];
        const std::int32_t value = neighbour(at, direction);
        if (value == before || (climb_.failed & bit(at, direction)) != 0 || !worth_trying(at, direction)) continue;
        climb_.cursor = static_cast<std::uint8_t>(at);
        climb_.phase = ClimbPhase::kMove;
        climb_.trial = {static_cast<std::uint8_t>(at), static_cast<std::int8_t>(direction), before, value, 0};
        state_.say("tries %s %d -> %d: step %.2f ms, stall %.1f %%", name(at), before, value,
                   climb_.base.step_ns * 1e-6, climb_.base.stall * 100);
        return with(kOrder[at], value);
      }
    }
    climb_.holds = true;
    if (climb_.base.stall >= kStalled) {
      state_.say("holds: nothing left to try makes the step faster");
    } else {
      state_.say("holds: the step does not wait for data");
    }
    return seen_.settings;
  }

  bool worth_trying(std::size_t at, int direction) const {
    return climb_.base.stall >= kStalled || (makes(kOrder[at]) && direction < 0);
  }

  Settings judge(const StepMeasure& now) {
    const Trial& trial = climb_.trial;
    const double gain = 1 - now.sample_ns / climb_.base.sample_ns;
    const double noise = std::max(gain_, kNoiseErrors * std::hypot(now.error, climb_.base.error));
    const bool faster = gain > noise;
    const bool spare = makes(kOrder[trial.at]) && trial.direction < 0 && climb_.base.stall < kNotStalled &&
                       now.stall < kNotStalled && now.sample_ns <= climb_.best_ns * (1 + gain_);
    climb_.favoured[trial.at] = faster || spare ? trial.direction : static_cast<std::int8_t>(-trial.direction);
    if (!faster && !spare) {
      climb_.failed |= bit(trial.at, trial.direction);
      climb_.phase = ClimbPhase::kReturn;
      climb_.trial.asked = 0;
      state_.say("%s %d -> %d did not help: step %+.1f %%; returns", name(trial.at), trial.before, trial.value,
                 -gain * 100);
      return with(kOrder[trial.at], trial.before);
    }
    climb_.failed = bit(trial.at, -trial.direction);
    climb_.base = climb_.reference = now;
    climb_.best_ns = faster ? now.sample_ns : std::min(climb_.best_ns, now.sample_ns);
    climb_.settings = seen_.settings;
    climb_.window.restart();
    climb_.window.add(seen_);
    const Trial kept = trial;
    const Settings next = next_trial();
    const Reason then = state_.why;
    state_.say("keeps %s %d: step %+.1f %%; %.*s", name(kept.at), kept.value, -gain * 100,
               static_cast<int>(then.view().size()), then.view().data());
    return next;
  }

  std::int32_t neighbour(std::size_t at, int direction) const {
    const KnobRange range = range_of(kOrder[at], state_.limits);
    const std::int32_t value = seen_.settings[kOrder[at]];
    return direction > 0 ? range.up(value) : range.down(value);
  }

  Settings with(KnobId id, std::int32_t value) const {
    Settings settings = seen_.settings;
    settings[id] = value;
    return settings;
  }

  static const char* name(std::size_t at) { return knob_table()[static_cast<std::size_t>(kOrder[at])].name.data(); }

  const Observation& seen_;
  PolicyState& state_;
  const double gain_;
  const std::uint32_t patience_;
  Climb climb_;
};

}  // namespace

bool HillClimb::knows(const PolicyState& state) const noexcept {
  // A window begins with a bool.
  if (!state.is_bool(offsetof(Climb, holds)) || !state.is_bool(offsetof(Climb, window))) return false;
  const auto climb = state.load<Climb>();
  return climb.phase <= ClimbPhase::kReturn && climb.cursor < kOrder.size() && climb.trial.at < kOrder.size();
}

Settings HillClimb::decide(const Observation& observation, PolicyState& state) const {
  return ClimbDecider(observation, state, gain_, patience_).decide();
}

}  // namespace drapps
