// What happened between two decisions on a plant that nobody simulates, for those who learn from it (reward.h).
#pragma once

#include <optional>
#include <vector>

#include "drapps/plant/plant.h"
#include "drapps/policy/reward.h"

namespace drapps {

/// A decision as it was made.
struct DecisionPoint {
  Observation seen;
  Limits limits;
  Settings applied;
  bool sound = true;  // the observation
};

/// What happened between two decisions, with `best` left 0. Nothing where something stands in between: a pause between
/// passes, a fault of an observation, counters that go back, or more than 20 s.
std::optional<Stretch> stretch_between(const DecisionPoint& from, const DecisionPoint& to);

/// Stretch::threads of these settings.
double makers_share(const Settings& settings, const Limits& limits) noexcept;

/// The rate that a twentieth of these exceed: what was observed does not say what would have been possible. Requires
/// one rate at least.
double best_rate_of(std::vector<double> rates);

}  // namespace drapps
