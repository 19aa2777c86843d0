// The default policy: the settings that the machine's limits suggest, as many reads as the first ones ask for, more
// where the storage becomes slower, and nothing else moved but with the limits.
#pragma once

#include <cstddef>

#include "drapps/plant/policy.h"

namespace drapps {

/// Settings to start a plant with: every allowed worker, or a process for each core up to eight; up to four batches
/// ahead or as many as 8 MiB hold; up to eight reads in flight; one fused lane, and even weights for the lanes of a
/// split plan. Always within the limits.
/// @param batch_bytes  of one batch; 0 where that is not known.
Settings initial_settings(const Limits& limits, std::size_t batch_bytes = 0) noexcept;

/// Proposes what is in force, so a plant stays as it was started: with initial_settings(), or with exported ones. Where
/// reads have to wait it raises the I/O depth, and with it the prefetch depth: once at the start (start.h), and where
/// the training waits for storage later on (depth_watch.h). Where it has as many
/// workers as it may have, and that number changes, it gets as many again.
class Initial final : public Policy {
 public:
  std::string_view name() const noexcept override { return "initial"; }
  Settings decide(const Observation& observation, PolicyState& state) const override;
  bool knows(const PolicyState& state) const noexcept override;
};

}  // namespace drapps
