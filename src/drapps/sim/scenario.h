// What a simulated plant goes through: worlds that follow each other.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "drapps/plant/plant.h"
#include "drapps/sim/world.h"

namespace drapps::sim {

struct Segment {
  double begin = 0;  // s
  World world;
  std::string name;
};

struct Scenario {
  std::vector<Segment> segments;  // one at least, by rising begin; the first begins at 0
  double seconds = 60;
  std::uint64_t seed = 1;
};

/// A world in which nothing changes.
inline Scenario stationary(const World& world, double seconds, std::uint64_t seed = 1) {
  return {.segments = {{.begin = 0, .world = world, .name = ""}}, .seconds = seconds, .seed = seed};
}

/// The limits within which knobs may move in a simulated world; the same as those of a live loader where it has the
/// knob.
Limits limits_of(const World& world) noexcept;

}  // namespace drapps::sim
