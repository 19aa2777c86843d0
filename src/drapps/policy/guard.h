// Between every policy and the knobs stands the guard: whatever is proposed, this is what may be done now.
//
//   Guard guard(plant.limits());
//   const Decision decision = guard.rule(seen, proposed, now_ns);
//   plant.apply(decision.applied);
//
// 1. Budgets bind always. Settings in force that lie outside the limits are brought inside at once, whatever the
//    signals say.
// 2. Stale or broken signals hold everything: an observation that is missing, older than two seconds or no newer than
//    the one before it, a counter that ran backwards, what is not a number, numbers that contradict each other.
//    Afterwards the guard rests for four decision epochs.
// 3. A knob moves towards its proposal on its own clock and by its own step, which are columns of the knob table: one
//    notch (see plant/knob_range.h), all the way, or all the way in its first move and one notch from then on; at most
//    every half second or four batches, whichever is later (fast knobs), or every ten seconds (slow ones). A move that
//    a budget forced is one.
// 4. A knob that moved rests for as many decision epochs as the table says: two for most, so that it may move again in
//    the second epoch after the change at the earliest. An epoch is half a second and four batches, whichever is later.
// 5. Lane weights are one fast knob: a notch takes 1/16 from the lane with the largest surplus against the proposal
//    and gives it to the one that lacks most. No weighted lane falls below 1/16.
//
// Source: the L0 shield of the control plane's design; thresholds as there.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "drapps/plant/policy.h"
#include "drapps/policy/signals.h"

namespace drapps {

inline constexpr std::uint64_t kRestEpochs = 4;  // after broken or stale signals

/// How a knob goes to what is proposed.
enum class Way : std::uint8_t {
  kStepwise,
  kAtOnce,  // past notches, clocks and cool-downs: for the judge alone (judge.h)
};

/// One guard per plant and policy. Not thread-safe; reads no clock of its own.
class Guard {
 public:
  explicit Guard(const Limits& limits) noexcept : limits_(limits) {}

  void set_limits(const Limits& limits) noexcept { limits_ = limits; }

  /// What to apply, given what is in force (observation.settings), what is proposed, and the time of the plant's clock
  /// now. `applied` equals `before` where nothing moves. Every call counts as a look at the plant, so the observations
  /// must come in the order in which they were taken.
  Decision rule(const Observation& observation, const Settings& proposed, std::uint64_t now_ns,
                Way way = Way::kStepwise) noexcept;

  /// What it remembers, as numbers.
  std::vector<std::uint64_t> save() const;
  /// The reverse of save(); false, and nothing is changed, where the numbers are no guard's.
  bool restore(std::span<const std::uint64_t> saved) noexcept;

 private:
  struct Clock {
    bool moved = false;
    std::uint64_t time_ns = 0;
    std::uint64_t batches = 0;
    std::uint64_t samples = 0;
    std::uint64_t epoch = 0;
  };
  template <class G, class Visit>
  static void visit_memory(G& guard, const Visit& visit);
  Hold check(const Observation& observation, std::uint64_t now_ns, Decision& decision) noexcept;
  void count_epoch(const Observation& observation) noexcept;
  std::int32_t stepped(const Knob& knob, std::int32_t value, std::int32_t target) const noexcept;
  Hold may_move(const Clock& clock, const KnobClock& due, std::uint32_t cool_down,
                const Observation& observation) const noexcept;
  void moved(Clock& clock, const Observation& observation) const noexcept;
  Hold move_weights(Settings& settings, const Settings& proposed, const Observation& observation, Way way) noexcept;

  Limits limits_;
  std::array<Clock, kKnobs> clocks_{};
  Clock weights_clock_{};
  Signals signals_;
  std::uint64_t epoch_ = 0;
  std::uint64_t epoch_time_ns_ = 0;
  std::uint64_t epoch_batches_ = 0;
  std::uint64_t rest_until_ = 0;  // epoch
  Hold last_fault_ = Hold::kNone;
};

}  // namespace drapps
