#include "drapps/plant/spread.h"

#include <gtest/gtest.h>

namespace drapps {
namespace {

TEST(Spread, QuantilesAreOfWhatCameSince) {
  Histogram histogram;
  HistogramCounts before;
  for (int i = 0; i < 1000; ++i) histogram.record(1'000'000);
  EXPECT_EQ(spread(histogram.counts(), before).p50, Histogram::upper_edge(Histogram::bucket_of(1'000'000)));
  for (int i = 0; i < 90; ++i) histogram.record(100);
  for (int i = 0; i < 9; ++i) histogram.record(2000);
  histogram.record(50'000);
  const Spread now = spread(histogram.counts(), before);
  EXPECT_EQ(now.count, 1100u);
  EXPECT_EQ(now.sum, 1'000'000'000u + 9000 + 18'000 + 50'000);
  EXPECT_EQ(now.p50, Histogram::upper_edge(Histogram::bucket_of(100)));
  EXPECT_EQ(now.p90, now.p50);
  EXPECT_EQ(now.p99, Histogram::upper_edge(Histogram::bucket_of(2000)));
  EXPECT_EQ(now.most, Histogram::upper_edge(Histogram::bucket_of(50'000)));
}

TEST(Spread, OfNothingNewIsZeroBesideTheTotals) {
  Histogram histogram;
  HistogramCounts before;
  histogram.record(7);
  static_cast<void>(spread(histogram.counts(), before));
  const Spread now = spread(histogram.counts(), before);
  EXPECT_EQ(now.count, 1u);
  EXPECT_EQ(now.sum, 7u);
  EXPECT_EQ(now.p50 + now.p90 + now.p99 + now.most, 0u);
}

}  // namespace
}  // namespace drapps
