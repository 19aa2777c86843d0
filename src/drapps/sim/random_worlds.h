// Worlds drawn at random, for whatever is to hold in all of them.
#pragma once

#include "drapps/base/philox.h"
#include "drapps/plant/plant.h"
#include "drapps/sim/scenario.h"

namespace drapps::sim {

/// A machine, a workload and a consumer whose numbers lie, spread evenly over their logarithms, where those of real
/// ones do: 2 to 32 cores, samples of 0.3 to 8 ms of a core, of which some wait for 1 to 100 ms besides, storage and a
/// training step of 0.3 to 6 times what the cores make.
World random_world(Draws& draws);

/// A world whose times, rates and sizes are near another's.
/// @param spread  standard deviation of their logarithms.
World world_like(World world, double spread, Draws& draws);

/// Any settings within limits.
Settings random_settings(const Limits& limits, Draws& draws);

}  // namespace drapps::sim
