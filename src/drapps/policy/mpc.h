// Model predictive control: what would come of each small move, by the simulator, and the best of them.
//
// 1. The model. With `weights`, which are a world in JSON (sim/world_json.h), that one, with the service times, the
//    storage and the training step as they are measured. Without, a world of these alone: cores from the limits, a
//    sample's CPU time and sleep, reads by their latency, the training step; accelerators, forms and remote machines
//    are then unknown, and their knobs stay where they are. A step is taken without what the world knows makes it
//    longer. Where only some of the samples are read, each has the mean of a read.
// 2. Reads. Where they take longer than the shortest that were seen while as many are in flight as may be, the storage
//    gives no more bytes: the model has that bandwidth.
//    Depths begin where the first reads say, and follow them as depth_watch.h does.
// 3. The moves. Every knob by a notch up or down, and each pair of moves of which one alone helps nothing, such as more
//    reads with more batches ahead; and as many worker processes as fill the cores. Each is rolled forward by the fluid
//    plant for `horizon` seconds.
// 4. The best one is proposed where it takes `gain` more samples than staying. Where nothing does, one that takes as
//    many with fewer processes or remote machines is.
//
// Pure: the model is made anew in each decision, of what is remembered. A decision costs some hundred short runs of the
// fluid.
#pragma once

#include <array>
#include <memory>

#include "drapps/base/result.h"
#include "drapps/plant/policy.h"
#include "drapps/policy/config.h"
#include "drapps/sim/world.h"

namespace drapps {

class Mpc final : public Policy {
 public:
  static constexpr std::array kParameters{PolicyParameter{"horizon", 4, 0.5, 60},  // s
                                          PolicyParameter{"gain", 0.01, 0, 0.5},
                                          PolicyParameter{"memory", 8, 1, 1000}};  // decisions

  /// kInvalidArgument where the weights are no world.
  static Result<std::unique_ptr<Policy>> make(const PolicyConfig& config);

  std::string_view name() const noexcept override { return "mpc"; }
  Settings decide(const Observation& observation, PolicyState& state) const override;
  bool knows(const PolicyState& state) const noexcept override;

 private:
  Mpc(const PolicyConfig& config, std::unique_ptr<const sim::World> world)
      : horizon_(config.number(kParameters[0])),
        gain_(config.number(kParameters[1])),
        memory_(config.number(kParameters[2])),
        world_(std::move(world)) {}

  double horizon_, gain_, memory_;
  std::unique_ptr<const sim::World> world_;  // the calibrated one; null where there is none
};

}  // namespace drapps
