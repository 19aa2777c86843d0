// How many worker processes: more while the consumer waits and cores are idle, fewer above the budget.
//
// Processes that sleep (in a read, on a network) use no core, so the number that fills the budget is not known
// beforehand: it is found by trials.
//
// 1. Observations cut the run into short windows. One in which the consumer hardly waited, or the processes had nothing
//    to do for a while, is dropped: it says neither that more of them would help nor that they did not.
// 2. While the consumer waits and cores are idle, of which the budget has some left and nobody else makes use, half as
//    many processes again are started, on trial, but not more than fill the cores nearly always; the first time as many
//    as fill them on average: cores times wall time by CPU time. On a machine that others keep busy, processes that
//    hardly need a core are tried too, as many as need little together.
// 3. The trial's windows begin once all its processes have made a sample. They are compared with those before it until
//    the difference is larger than its noise, or a few seconds are over.
// 4. Without a gain worth having the processes of the trial are retired, and the next one has to wait; after each
//    further failure in a row twice as long. Above the budget the processes that do not fit are retired.
// 5. Where the processes come to use less than half of the cores that as many used before, and some are idle, their
//    samples wait for something that they did not wait for: what the trials have found no longer holds, and the next
//    one is a first one, at once. That happens ever more rarely.
#pragma once

#include <array>

#include "drapps/plant/policy.h"
#include "drapps/policy/config.h"

namespace drapps {

class Trials final : public Policy {
 public:
  static constexpr std::array kParameters{
      PolicyParameter{"gain", 0.03, 0, 1},               // of the rate, that a trial must bring
      PolicyParameter{"cool_down_s", 10, 0.25, 3'600}};  // after the first failed trial

  explicit Trials(const PolicyConfig& config = {})
      : gain_(config.number(kParameters[0])),
        cool_down_ns_(static_cast<std::uint64_t>(1e9 * config.number(kParameters[1]))) {}
  std::string_view name() const noexcept override { return "trials"; }
  KnobClock pace(const Limits& /*limits*/) const noexcept override { return {.period_ns = 250'000'000, .count = 0}; }
  Settings decide(const Observation& observation, PolicyState& state) const override;
  bool knows(const PolicyState& state) const noexcept override;

 private:
  double gain_;
  std::uint64_t cool_down_ns_;
};

}  // namespace drapps
