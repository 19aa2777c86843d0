// What recorded runs give to learn from: what was seen, what was then applied, and what it came to.
//
// A step is from one decision to the next of one trace. What was applied counts, not what was proposed, whoever
// decided. The best rate, which a reward may ask for, is the one that a twentieth of the steps of the same run exceed:
// a recorded run does not say what would have been possible. Left out are steps with a pause
// between passes, a fault of the observation, or counters that go back.
//
// Of the knobs that a network may move those are learnt that moved: of the others the data say nothing, and the weights
// do not name them.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "drapps/base/result.h"
#include "drapps/policy/learned_weights.h"
#include "drapps/policy/reward.h"
#include "drapps/rl/transitions.h"
#include "drapps/trace/reader.h"

namespace drapps::training {

/// What the data say of one knob.
struct KnobSupport {
  std::string name;
  std::uint64_t stays = 0, downs = 0, ups = 0;
  std::int32_t least = 0, most = 0;  // values that were in force
  bool learnt = false;               // it moved, and so the network moves it
};

struct Recorded {
  LearnedShape shape;
  rl::Transitions<float> steps;
  std::vector<KnobSupport> support{};
  std::uint64_t runs = 0;
  std::uint64_t left_out = 0;  // steps
  std::uint64_t drawn = 0;     // steps whose decision says with which probability it was drawn
  std::uint64_t hash = 0;      // of all that is learnt from
};

/// @param shape  of a training; its knobs that did not move are left out.
/// Errors of trace::TraceReader; kInvalidArgument where no knob moves, or there is no
/// step.
Result<Recorded> read_recorded(const std::vector<std::string>& files, const LearnedShape& shape, const Reward& reward);

}  // namespace drapps::training
