#include "drapps/policy/static.h"

#include <gtest/gtest.h>

#include "drapps/plant/knob_range.h"
#include "drapps/policy/guard.h"
#include "drapps/policy/initial.h"

namespace drapps {
namespace {

TEST(Static, TakesEveryKnobByItsName) {
  for (const Knob& knob : knob_table()) {
    EXPECT_EQ(Static::kParameters[static_cast<std::size_t>(knob.id)].name, knob.name);
  }
}

TEST(Static, ProposesWhatItWasGivenAndLeavesTheRest) {
  const Static policy({.name = "static", .parameters = {{"io_depth", 64}, {"fused", 0}}});
  Observation seen;
  seen.settings.knobs = {3, 5, 7, 1, 9};
  PolicyState state{};
  Settings wanted = seen.settings;
  wanted[KnobId::kIoDepth] = 64;
  wanted[KnobId::kFused] = 0;
  EXPECT_EQ(policy.decide(seen, state), wanted);
  EXPECT_EQ(Static().decide(seen, state), seen.settings);
}

TEST(Static, GetsThereWithinTheLimits) {
  const Static policy({.name = "static", .parameters = {{"workers", 2}, {"prefetch_depth", 32}}});
  PolicyState state{.limits = native_limits(8, 16, 6)};
  Guard guard(state.limits);
  Observation seen{.settings = initial_settings(state.limits)};
  for (int i = 0; i < 40; ++i) {
    seen.time_ns += 1'000'000'000;
    seen.batches += 10;
    seen.settings = guard.rule(seen, policy.decide(seen, state), seen.time_ns).applied;
  }
  EXPECT_EQ(seen.settings[KnobId::kWorkers], 2);
  EXPECT_EQ(seen.settings[KnobId::kPrefetchDepth], 6);
  EXPECT_EQ(seen.settings[KnobId::kIoDepth], 8);
}

}  // namespace
}  // namespace drapps
