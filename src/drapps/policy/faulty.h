// For tests: a policy that fails, to show that the loader goes on without its control plane.
#pragma once

#include "drapps/plant/policy.h"

namespace drapps {

/// Throws std::runtime_error("injected fault") at its `at`-th decision, counted from one; until then it holds.
class Faulty final : public Policy {
 public:
  explicit Faulty(std::uint64_t at = 2) noexcept : at_(at) {}
  std::string_view name() const noexcept override { return "faulty"; }
  Settings decide(const Observation& observation, PolicyState& state) const override;

 private:
  std::uint64_t at_;
};

}  // namespace drapps
