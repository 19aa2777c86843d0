// An episode under way: a checkpoint keeps its number and its actions, and goes on from these.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "drapps/base/result.h"
#include "drapps/rl/environment.h"
#include "drapps/rl/random.h"

namespace drapps::rl {

struct RunningEpisode {
  std::unique_ptr<Environment> environment;
  std::uint64_t number = 0;
  std::vector<float> actions{};  // so far
  double sum = 0;                // of the rewards so far

  void begin(Random& random) {
    const std::uint64_t high = random.u32();
    number = environment->numbered(high << 32 | random.u32());
    actions.clear();
    sum = 0;
    environment->begin(number);
  }

  /// @param values  numbers of an action.
  Outcome step(const float* action, std::size_t values) {
    const Outcome outcome = environment->step(action);
    actions.insert(actions.end(), action, action + values);
    sum += outcome.reward;
    return outcome;
  }

  /// Brings the environment to where the episode is. kCorrupt where no episode has such actions.
  Status resume(std::size_t values) {
    const Error none{.code = ErrorCode::kCorrupt,
                     .message = "an episode of this checkpoint ends before its last action"};
    if (actions.size() % values != 0) return none;
    environment->begin(number);
    for (std::size_t at = 0; at < actions.size(); at += values) {
      const Outcome outcome = environment->step(actions.data() + at);
      if (outcome.ended || outcome.cut) return none;
    }
    return ok_status();
  }

  template <class Visit>
  void visit_memory(const Visit& visit) {
    visit(number);
    visit(sum);
    visit(actions);
  }
};

inline Error no_such_checkpoint() {
  return {.code = ErrorCode::kCorrupt, .message = "this is no checkpoint of such a training"};
}

}  // namespace drapps::rl
