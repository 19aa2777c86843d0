// The running pipeline as a plant: what the control plane sees of a loader's runners, and all it sees.
#pragma once

#include <mutex>
#include <vector>

#include "drapps/pipeline/engine.h"
#include "drapps/pipeline/runner.h"
#include "drapps/plant/plant.h"

namespace drapps {

/// What the machine's budgets allow a plan, given what other loaders of the process already use: a batch needs room
/// before it counts, and half of what is left stays for whoever comes next. What yields to a batch counts as free.
Limits live_limits(const Plan& plan, const Engine& engine);

/// All passes of a loader are one plant. Each attaches its runner while it lasts, several at once where they live side
/// by side, and none between them: then the plant is finished, and what is applied waits for the next one. Counters are
/// of all passes so far, so they never run backwards; ready_batches are those of the attached ones.
class LivePlant final : public Plant {
 public:
  LivePlant(const Engine& engine, const Settings& settings, const Limits& limits)
      : engine_(engine), limits_(limits), settings_(settings) {}

  /// A pass begins, and the settings in force are fitted to its limits.
  /// @param runner  lives until its detach().
  void attach(Runner& runner, const Limits& limits);
  /// Keeps what the runner counted. Nothing is asked of it any more.
  void detach(const Runner& runner);

  /// Those of the latest pass, with the workers that the machine gives now and the memory that others do not need.
  Limits limits() const override;
  Observation observe() const override;
  void apply(const Settings& settings) override;

 private:
  const Engine& engine_;
  mutable std::mutex mutex_;  // guards all below
  Limits limits_;
  Settings settings_;  // applied last
  LaneSet fused_;      // the lanes of a fused plan
  std::vector<Runner*> runners_;
  Observation counted_;  // by runners that were detached; only its counters are in use
};

}  // namespace drapps
