// The running pipeline as a plant: what the control plane sees of a runner, and all it sees.
#pragma once

#include <mutex>

#include "drapps/pipeline/engine.h"
#include "drapps/pipeline/runner.h"
#include "drapps/plant/plant.h"

namespace drapps {

/// What the machine's budgets allow a plan, given what other loaders of the process already use: a batch needs room
/// before it counts, and half of what is left stays for whoever comes next. What passes that ended left parked counts
/// as free.
Limits live_limits(const Plan& plan, const Engine& engine);

/// The control thread may hold a plant a moment longer than the runner lives, so the two are parted by detach().
class LivePlant final : public Plant {
 public:
  /// @param runner outlives the plant, or its detach().
  LivePlant(Runner& runner, const Engine& engine, const Limits& limits)
      : engine_(engine), limits_(limits), runner_(&runner) {}

  /// From here on the plant is a memory: it shows what was last seen, finished, and moves nothing.
  void detach();

  /// As it was made with, and the workers that the machine gives now.
  Limits limits() const override;
  Observation observe() const override;
  void apply(const Settings& settings) override;

 private:
  Observation look() const;

  const Engine& engine_;
  const Limits limits_;
  mutable std::mutex mutex_;  // guards all below
  Runner* runner_;            // null once detached
  Observation last_;          // seen by detach()
};

}  // namespace drapps
