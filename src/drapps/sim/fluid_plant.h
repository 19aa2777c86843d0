// A plant as a fluid: samples flow at rates, and between two changes nothing but a level moves.
//
//   FluidPlant plant(stationary(world, 60), settings);
//   plant.advance(0.5);
//   const Observation seen = plant.observe();
//
// 1. The level is that of samples that are made and not taken. Makers fill it at `produce` until the window is full,
//    the consumer empties it at `consume`; where it is empty or full both go as fast as they meet (rates.h).
// 2. A stretch ends where the level reaches an end, where a pause, a segment, an epoch, a process or a remote machine
//    begins, and every half second, when what varies slowly is drawn anew. So a second takes some five of them,
//    whatever the rates.
//
// Deterministic: the same scenario, settings and times give the same numbers to the last bit.
#pragma once

#include <array>

#include "drapps/sim/rates.h"
#include "drapps/sim/simulated_plant.h"

namespace drapps::sim {

class FluidPlant final : public SimulatedPlant {
 public:
  FluidPlant(Scenario scenario, const Settings& settings);

  void advance(double seconds);
  /// Samples that are made and not taken.
  double level() const noexcept { return level_; }
  void apply(const Settings& settings) override;

 private:
  /// Processes or machines that work, and those that were asked for and have not begun.
  struct Team {
    struct Starting {
      double count = 0;
      double at = 0;
    };
    double working = 0;
    std::array<Starting, 8> starting{};  // where there are more, they begin with the last

    void ask(double count, double at) noexcept;
    bool begin(double time) noexcept;
    double waiting() const noexcept;
    double next() const noexcept;
  };

  double process_start(double processes) const noexcept;
  void stretch(double most) noexcept;
  void refresh() noexcept;

  Team makers_, remote_;
  Rates rates_;
  Condition condition_;  // that the rates are of
  bool moved_ = true;    // a knob or the world has, since the rates were made
  double level_ = 0;
  double paused_until_ = 0;
};

}  // namespace drapps::sim
