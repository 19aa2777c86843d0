#include "drapps/kernel/level.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace drapps::kernel {
namespace {

TEST(Level, EveryMachineHasThePortableOne) { EXPECT_EQ(supported_levels().front(), Level::kPortable); }

TEST(Level, TheActiveOneIsSupported) {
  EXPECT_NE(std::ranges::find(supported_levels(), active_level()), supported_levels().end());
}

TEST(Level, EachContainsTheOnesBeforeIt) { EXPECT_TRUE(std::ranges::is_sorted(supported_levels())); }

}  // namespace
}  // namespace drapps::kernel
