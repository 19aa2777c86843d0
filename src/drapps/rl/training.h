// A training of an actor, whichever way it learns. All that happens is a function of its options; what save() gives
// goes on as if nothing had been interrupted, to the last bit.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "drapps/base/result.h"
#include "drapps/rl/mlp.h"

namespace drapps::rl {

/// What an update tells of itself. What its way of learning has not is 0.
struct Progress {
  std::uint64_t decisions = 0;
  std::uint64_t episodes = 0;                                // that have ended since the update before
  double reward = std::numeric_limits<double>::quiet_NaN();  // mean sum of rewards of these episodes, unscaled
  double explained = 0;  // share of the variance of returns that the critic explains
  double policy = 0;     // loss
  double value = 0;      // loss
  double entropy = 0;
  double divergence = 0;  // from the policy that acted
  double clipped = 0;     // share of actions whose ratio is outside the clip
};

class Training {
 public:
  virtual ~Training() = default;
  virtual bool done() const noexcept = 0;
  virtual const Mlp<float>& actor() const noexcept = 0;
  virtual Mlp<float>& actor() noexcept = 0;
  /// Goes on until the next update is done.
  virtual Progress go_on() = 0;
  /// All that go_on() depends on but the options.
  virtual std::vector<std::uint8_t> save() = 0;
  /// The reverse of save(), into a training that has just been made. kCorrupt where `saved` is no such thing: then the
  /// training is of no more use.
  virtual Status restore(std::span<const std::uint8_t> saved) = 0;
};

}  // namespace drapps::rl
