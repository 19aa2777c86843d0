// The running pipeline as a plant: what the control plane sees of an executor, and all it sees.
#pragma once

#include <mutex>

#include "drapps/pipeline/executor.h"
#include "drapps/plant/plant.h"

namespace drapps {

/// What the machine's budgets allow a plan, given what other loaders of the process already use: a batch needs room
/// before it counts, and half of what is left stays for whoever comes next.
Limits live_limits(const Plan& plan, const Engine& engine);

/// The control thread may hold a plant a moment longer than the executor lives, so the two are parted by detach().
class LivePlant final : public Plant {
 public:
  /// @param executor outlives the plant, or its detach().
  LivePlant(Executor& executor, const Engine& engine)
      : engine_(engine), limits_(live_limits(executor.plan(), engine)), executor_(&executor) {}

  /// From here on the plant is a memory: it shows what was last seen, finished, and moves nothing.
  void detach();

  Limits limits() const override { return limits_; }
  Observation observe() const override;
  void apply(const Settings& settings) override;

 private:
  Observation look() const;

  const Engine& engine_;
  const Limits limits_;
  mutable std::mutex mutex_;  // guards all below
  Executor* executor_;        // null once detached
  Observation last_;          // seen by detach()
};

}  // namespace drapps
