// Where the I/O depth begins to be right: what the first reads that had to wait say about it (read_meter.h).
//
// 1. Metering. From the first decision that knows of a read which had to wait, to the first one that knows of 64 more.
//    A policy that tries knobs may end it earlier.
// 2. Where the storage has refused requests meanwhile, more of them are no help: the start ends.
// 3. Both depths are proposed until they are in force, for at most so many decisions, and never less than what stands.
//    Then the start has ended, for good.
#pragma once

#include <cstdint>
#include <optional>

#include "drapps/plant/policy.h"
#include "drapps/policy/read_meter.h"

namespace drapps {

/// What a policy remembers of the start. Plain and trivially copyable; zero bytes are its beginning.
struct Start {
  enum class StartPhase : std::uint8_t { kMeter, kMove, kEnded };

  StartPhase phase;
  std::uint32_t asked;  // decisions in which the knobs were asked to move
  ReadMark mark;        // at the first decision of the metering
  ReadMeter metered;
};

/// Decisions for the guard to let the knobs move.
inline constexpr std::uint32_t kMostAsked = 30;

/// What the start proposes now, and why; nothing where it has nothing to say. It moves only the two knobs.
std::optional<Settings> start_depths(Start& start, const Observation& observation, PolicyState& state);

}  // namespace drapps
