#include "drapps/base/torch_numbers.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <random>

namespace drapps {
namespace {

/// torch.manual_seed(seed).
TorchState seeded(std::uint32_t seed) {
  TorchState state{};
  state.left = state.seeded = 1;
  state.words[0] = seed;
  for (std::size_t i = 1; i < kMersenneWords; ++i) {
    const auto before = static_cast<std::uint32_t>(state.words[i - 1]);
    state.words[i] = 1812433253u * (before ^ before >> 30) + static_cast<std::uint32_t>(i);
  }
  return state;
}

TEST(TorchNumbers, AreThoseOfTheMersenneTwister) {
  TorchState state = seeded(5);
  std::mt19937 theirs(5);
  TorchNumbers numbers(state, true);
  for (int i = 0; i < 2000; ++i) {
    ASSERT_EQ(numbers.below(1u << 24), static_cast<std::uint32_t>(theirs()) % (1u << 24));
    ASSERT_TRUE(state.usable());
  }
}

TEST(TorchNumbers, LieInTheirRangeRoundedOnceOrTwice) {
  TorchState once = seeded(7), twice = seeded(7);
  TorchNumbers fused(once, true), plain(twice, false);
  int different = 0;
  for (int i = 0; i < 2000; ++i) {
    const float a = fused.uniform(0.08f, 1.0f), b = plain.uniform(0.08f, 1.0f);
    ASSERT_GE(a, 0.08f);
    ASSERT_LE(a, 1.0f);
    ASSERT_NEAR(a, b, 1e-7f);
    different += a != b ? 1 : 0;
  }
  EXPECT_GT(different, 0);
}

TEST(TorchNumbers, AStateThatWasCutOrEditedIsNotUsable) {
  TorchState state = seeded(1);
  EXPECT_TRUE(state.usable());
  for (const std::int32_t left : {0, -1, INT32_MIN, 626}) {
    state.left = left;
    EXPECT_FALSE(state.usable()) << left;
  }
  state.left = 1;
  for (const std::uint64_t next : {std::uint64_t{625}, UINT64_MAX}) {
    state.next = next;
    EXPECT_FALSE(state.usable()) << next;
  }
}

}  // namespace
}  // namespace drapps
