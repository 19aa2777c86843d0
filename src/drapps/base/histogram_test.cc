#include "drapps/base/histogram.h"

#include <gtest/gtest.h>

#include <random>
#include <thread>
#include <vector>

namespace drapps {
namespace {

TEST(Histogram, EveryValueLiesInItsBucket) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 100'000; ++i) {
    const std::uint64_t value = random() >> (random() % 64);
    const std::size_t bucket = Histogram::bucket_of(value);
    ASSERT_LT(bucket, kHistogramBuckets);
    ASSERT_LE(value, Histogram::upper_edge(bucket));
    if (bucket > 0) {
      ASSERT_GT(value, Histogram::upper_edge(bucket - 1));
    }
  }
}

TEST(Histogram, QuantilesAreKnownWithinABucket) {
  Histogram histogram;
  for (std::uint64_t value = 1; value <= 10'000; ++value) histogram.record(value * 1000);
  const HistogramCounts counts = histogram.counts();
  EXPECT_EQ(counts.count, 10'000u);
  EXPECT_DOUBLE_EQ(counts.mean(), 5'000'500.0);
  EXPECT_NEAR(static_cast<double>(counts.quantile(0.5)), 5e6, 0.25 * 5e6);
  EXPECT_NEAR(static_cast<double>(counts.quantile(0.99)), 9.9e6, 0.25 * 9.9e6);
  EXPECT_EQ(HistogramCounts{}.quantile(0.5), 0u);
}

TEST(Histogram, CountsOfSeveralAdd) {
  Histogram one;
  Histogram other;
  one.record(10);
  other.record(10);
  other.record(1000);
  HistogramCounts both = one.counts();
  both += other.counts();
  EXPECT_EQ(both.count, 3u);
  EXPECT_EQ(both.sum, 1020u);
  EXPECT_EQ(both.buckets[Histogram::bucket_of(10)], 2u);
  EXPECT_EQ(both.buckets[Histogram::bucket_of(1000)], 1u);
}

TEST(Histogram, ThreadsLoseNothing) {
  Histogram histogram;
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&] {
        for (std::uint64_t value = 0; value < 20'000; ++value) histogram.record(value);
      });
    }
  }
  EXPECT_EQ(histogram.counts().count, 80'000u);
}

}  // namespace
}  // namespace drapps
