// A run that takes no time: a simulated plant under a policy and its guard, as the control thread would drive a live
// one.
//
//   auto policy = make_policy({.name = "trials"});
//   const RunResult result = run(stationary(world, 60), *std::move(policy));
//   const Totals& totals = result.segments.back().totals;
#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "drapps/base/result.h"
#include "drapps/plant/features.h"
#include "drapps/plant/policy.h"
#include "drapps/policy/config.h"
#include "drapps/sim/accounts.h"
#include "drapps/sim/scenario.h"
#include "drapps/trace/writer.h"

namespace drapps::sim {

/// One segment of a run.
struct SegmentResult {
  std::string name;
  double begin = 0;
  Totals totals;         // of the segment alone; its memory is the most in it
  double load_mean = 0;  // s that a batch is waited for in next()
  double load_p95 = 0;
  std::uint64_t moves = 0;  // of knobs
  Settings settings;        // at its end
  Features features{};      // of its beginning and its end; of a run without a policy alone, which would see them too
};

struct RunResult {
  std::vector<SegmentResult> segments;
  std::uint64_t decisions = 0;
  Status recorded = ok_status();  // an error where its file takes no more
  nlohmann::json learning;        // LiveLearner::to_json(), or null where the policy does not go on learning
};

/// What a run has beside its policy, as on a live plant.
struct RunOptions {
  /// Writes down what the policy does, without samples, of which a fluid has none. Null: nobody does.
  std::shared_ptr<trace::TraceWriter> writer{};
  PolicyConfig config{};  // of the policy; with `learn` it goes on learning (control/live_learner.h)
};

/// Runs a scenario to its end, on the fluid plant.
/// @param policy  asked at its own pace; null: the settings stay.
/// @param start   settings to begin with; initial_settings() where absent.
/// @param held    empty, or settings of each segment, which the knobs have as it begins; of a run without a policy.
/// @param options  of a run with a policy; its writer is closed at the end.
RunResult run(const Scenario& scenario, std::unique_ptr<const Policy> policy, const std::optional<Settings>& start = {},
              std::span<const Settings> held = {}, const RunOptions& options = {});

}  // namespace drapps::sim
