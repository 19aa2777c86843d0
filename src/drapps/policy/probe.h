// Whether other settings are faster than those in force: each is held in turn, and the training's steps are timed.
//
// 1. The order is A, B, A: what drifts meanwhile says nothing for either. The first A may be what was measured before.
//    Every leg begins when its settings are in force, worker processes have started or left, and the batches that were
//    made under the others are taken; its window is that of step_window.h.
// 2. A difference counts where it is larger than 2 % and than three standard errors. Those come from the windows, and
//    from how far the legs of the same settings lie apart, so that an event in the middle decides nothing.
// 3. Where it is larger than 2 % but may be noise, B and A follow once more, up to four times.
// 4. What is plainly slower costs no more than it must: where the first steps of B take 10 % longer than A did, B has
//    lost. An A that is far slower than the ones before, or a leg that takes far longer than the first, is the effect
//    of something else, and ends the probe.
#pragma once

#include <cstdint>

#include "drapps/plant/plant.h"
#include "drapps/policy/step_window.h"

namespace drapps {

enum class Finding : std::uint8_t {
  kOpen,    // it goes on
  kFaster,  // the other settings are
  kSlower,
  kEven,
  kFailed,  // the settings could not be brought in force
};

/// Plain and trivially copyable.
class Probe {
 public:
  Probe() = default;
  /// @param own  what was measured of the settings in force, in the place of the first A; its step is 0 where nothing
  ///             was.
  Probe(const Observation& seen, const Settings& others, const StepMeasure& own) noexcept;

  /// Takes the next observation in.
  Finding look(const Observation& seen) noexcept;
  /// The settings that are to be in force now.
  const Settings& wanted() const noexcept { return leg_ % 2 == 0 ? own_ : others_; }
  const Settings& own() const noexcept { return own_; }
  /// ns of a mean step, over the legs that have ended.
  double own_step() const noexcept { return mean(0); }
  double others_step() const noexcept { return mean(1); }

  /// Whether bytes that somebody stored are a probe.
  static bool is_probe(const std::byte* bytes) noexcept;

 private:
  struct Legs {  // of the same settings
    double count = 0, sum = 0, squares = 0, errors = 0;
  };
  bool settled(const Observation& seen) noexcept;
  void begin_leg(const Observation& seen) noexcept;
  void end_leg(const StepMeasure& measure) noexcept;
  double mean(std::size_t side) const noexcept;
  double variance(std::size_t side) const noexcept;
  Finding find() const noexcept;

  StepWindow window_;
  Settings own_, others_;
  Legs legs_[2];
  std::uint64_t began_ns_ = 0, began_batches_ = 0;
  std::uint64_t first_ns_ = 0;  // that the first leg took
  std::uint64_t ready_ = 0;     // batches that were made under the other settings
  std::uint32_t leg_ = 0;       // even: of own_; odd: of others_
  std::uint32_t asked_ = 0;     // decisions in which the settings were to come in force
  bool measures_ = false;
};

}  // namespace drapps
