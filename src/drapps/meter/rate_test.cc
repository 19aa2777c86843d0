#include "drapps/meter/rate.h"

#include <gtest/gtest.h>

#include <limits>

namespace drapps {
namespace {

constexpr std::uint64_t kSecond = 1'000'000'000;

TEST(Rate, IsGrowthPerSecond) {
  Rate rate(0.01);
  EXPECT_FALSE(rate.read(100, 5 * kSecond).valid);
  const Reading seen = rate.read(300, 9 * kSecond);
  EXPECT_TRUE(seen.valid);
  EXPECT_DOUBLE_EQ(seen.value, 0.5);
  EXPECT_EQ(seen.time_ns, 9 * kSecond);
  EXPECT_EQ(rate.read(300, 10 * kSecond).value, 0);
  EXPECT_TRUE(rate.read(300, 11 * kSecond).valid);
}

TEST(Rate, OfACounterThatWentBackIsNone) {
  Rate rate;
  rate.read(std::numeric_limits<std::uint64_t>::max(), kSecond);
  EXPECT_FALSE(rate.read(5, 2 * kSecond).valid);
  EXPECT_DOUBLE_EQ(rate.read(7, 3 * kSecond).value, 2);
}

TEST(Rate, OfWhatCannotBeReadIsNoneAndBeginsAnew) {
  Rate rate;
  rate.read(5, kSecond);
  EXPECT_FALSE(rate.read(std::nullopt, 2 * kSecond).valid);
  EXPECT_FALSE(rate.read(50, 3 * kSecond).valid);
  EXPECT_DOUBLE_EQ(rate.read(60, 4 * kSecond).value, 10);
}

TEST(Rate, WhereTimeStandsStillIsNoneAndLosesNothing) {
  Rate rate;
  rate.read(0, kSecond);
  EXPECT_FALSE(rate.read(8, kSecond).valid);
  EXPECT_DOUBLE_EQ(rate.read(10, 2 * kSecond).value, 10);
  EXPECT_FALSE(rate.read(20, kSecond).valid);
  EXPECT_DOUBLE_EQ(rate.read(30, 2 * kSecond).value, 10);
}

TEST(Rate, BeginsAnewWhereItIsToldTo) {
  Rate rate;
  rate.read(5, kSecond);
  rate.forget();
  EXPECT_FALSE(rate.read(500, 2 * kSecond).valid);
}

struct TwoReadings {
  Reading first, second;
};

TEST(Reading, OfAStructAreAList) {
  const auto list = list_of(TwoReadings{.first = reading(1, 10), .second = {}});
  static_assert(list.size() == 2);
  EXPECT_TRUE(list[0].valid);
  EXPECT_EQ(list[0].value, 1);
  EXPECT_FALSE(list[1].valid);
}

}  // namespace
}  // namespace drapps
