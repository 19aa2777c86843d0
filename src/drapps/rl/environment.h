// What a policy learns in: episodes that are the same whenever they begin with the same number and meet the same
// actions. So an episode under way is kept in a checkpoint as its number and its actions.
//
//   environment->begin(environment->numbered(drawn));
//   environment->look(inputs.data(), mask.data());
//   const Outcome outcome = environment->step(action.data());
#pragma once

#include <cstddef>
#include <cstdint>

#include "drapps/rl/heads.h"

namespace drapps::rl {

struct Outcome {
  double reward = 0;
  bool ended = false;  // nothing comes afterwards
  bool cut = false;    // by a limit in time: it would have gone on
};

class Environment {
 public:
  virtual ~Environment() = default;
  virtual std::size_t inputs() const noexcept = 0;
  virtual Heads heads() const = 0;
  /// The number under which an episode begins now, made from a number that was drawn: where the episodes that are drawn
  /// from change, it also says which they were.
  virtual std::uint64_t numbered(std::uint64_t drawn) const { return drawn; }
  /// Begins the episode of this number.
  virtual void begin(std::uint64_t episode) = 0;
  /// What is seen now, and what may be done: inputs() and heads().outputs() places.
  virtual void look(float* inputs, std::uint8_t* mask) const = 0;
  /// @param action  heads().values() places.
  virtual Outcome step(const float* action) = 0;
};

}  // namespace drapps::rl
