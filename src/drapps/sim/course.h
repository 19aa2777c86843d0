// What happens to a plant whatever its knobs are: segments, slow noise, and a cache that fills.
#pragma once

#include <array>
#include <cstdint>

#include "drapps/sim/costs.h"
#include "drapps/sim/scenario.h"

namespace drapps::sim {

/// Times and levels that differ by less, in seconds or as a share, are the same.
inline constexpr double kAlmost = 1e-9;

class ScenarioCourse {
 public:
  explicit ScenarioCourse(Scenario scenario);

  const World& world() const noexcept { return scenario_.segments[segment_].world; }
  /// The condition now, but for the makers and remote machines, which are the plant's.
  const Condition& condition() const noexcept { return condition_; }
  /// Bytes of the cache that are used.
  double kept_bytes(const Settings& settings) const noexcept;
  /// Samples until the epoch ends.
  double epoch_left() const noexcept { return epoch_left_; }

  /// When something changes next by itself, in s.
  double next() const noexcept;
  /// Brings in what has changed by `time`; true where another segment has begun.
  bool advance(double time) noexcept;
  /// So many samples were made.
  void add_samples(double samples, const Settings& settings) noexcept;
  /// What is kept is in a form that is no longer wanted.
  void forget_kept() noexcept { kept_ = condition_.cached = 0; }

 private:
  void draw(double time) noexcept;

  Scenario scenario_;
  std::size_t segment_ = 0;
  Condition condition_;
  double next_draw_ = 0;
  std::uint64_t draws_ = 0;
  std::array<double, 3> noise_{};
  double epoch_left_;
  double kept_ = 0;   // samples in the cache
  double known_ = 0;  // samples that the system has read
};

}  // namespace drapps::sim
