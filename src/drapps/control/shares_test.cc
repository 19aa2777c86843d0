#include "drapps/control/shares.h"

#include <gtest/gtest.h>

namespace drapps {
namespace {

constexpr std::uint64_t kSecondNs = 1'000'000'000;

/// A loader as its observations show it: `cores` in use by threads and processes, `waits` of the time waited.
struct Sharer {
  explicit Sharer(Shares& shares) : shares_(shares) { run(0, 0, 0); }
  ~Sharer() { shares_.leave(this); }
  void run(double seconds, double cores, double waits) {
    const double ns = seconds * 1e9;
    seen.time_ns += static_cast<std::uint64_t>(ns);
    seen.stall_ns += static_cast<std::uint64_t>(ns * waits);
    seen.cpu_ns += static_cast<std::uint64_t>(ns * cores);
    shares_.observe(this, seen);
  }
  double cores(double budget = 4) { return shares_.cores(this, budget); }
  Turn turn() { return shares_.turn(this, seen.time_ns); }
  void note(Trying trying) { shares_.note(this, trying, seen.time_ns); }
  void wait(std::uint64_t ns) { seen.time_ns += ns; }

  Shares& shares_;
  PlantCounters seen{.time_ns = kSecondNs};
};

TEST(Shares, OneAloneHasAllTheCores) {
  Shares shares;
  Sharer one(shares);
  EXPECT_EQ(one.cores(), 4);
  one.run(2, 1, 1);
  EXPECT_EQ(one.cores(), 4);
  EXPECT_EQ(one.cores(2.5), 2.5);
}

TEST(Shares, WhatOneDoesNotNeedIsForTheOthers) {
  Shares shares;
  Sharer little(shares);
  Sharer waits(shares);
  little.run(2, 0.5, 0);
  waits.run(2, 1, 0.5);
  EXPECT_DOUBLE_EQ(waits.cores(), 3.5);
  EXPECT_DOUBLE_EQ(little.cores(), 2);  // it may have half if it wants
  {
    Sharer third(shares);
    third.run(2, 3, 0.5);
    EXPECT_DOUBLE_EQ(third.cores(), 1.75);
    EXPECT_DOUBLE_EQ(waits.cores(), 1.75);
  }
  EXPECT_DOUBLE_EQ(waits.cores(), 3.5);
}

TEST(Shares, SmallChangesAreNoneAndBetweenPassesNothingIsNeeded) {
  Shares shares;
  Sharer one(shares);
  Sharer other(shares);
  other.run(2, 1, 0);
  one.run(2, 3, 0.5);
  EXPECT_DOUBLE_EQ(one.cores(), 3);
  other.run(2, 0.8, 0);
  EXPECT_DOUBLE_EQ(one.cores(), 3);
  other.run(0.5, 0, 0);  // too soon for a look
  EXPECT_DOUBLE_EQ(one.cores(), 3);
  other.seen.finished = true;
  other.run(0.1, 0, 0);
  EXPECT_DOUBLE_EQ(one.cores(), 4);
}

TEST(Shares, CountersThatRanBackwardsBeginAnew) {
  Shares shares;
  Sharer one(shares);
  Sharer other(shares);
  other.run(2, 1, 0);
  other.seen = {.time_ns = kSecondNs / 2};
  shares.observe(&other, other.seen);
  EXPECT_DOUBLE_EQ(one.cores(), 3);
  other.run(2, 2, 0);
  EXPECT_DOUBLE_EQ(one.cores(), 2);
}

TEST(Shares, OneTriesAtATimeAndNobodyTwiceWhileAnotherWaits) {
  Shares shares;
  Sharer one(shares);
  Sharer other(shares);
  EXPECT_EQ(one.turn(), Turn::kOpen);
  one.note(Trying::kTries);
  EXPECT_EQ(one.turn(), Turn::kOpen);
  EXPECT_EQ(other.turn(), Turn::kTaken);
  other.note(Trying::kWaits);
  EXPECT_EQ(one.turn(), Turn::kAsked);
  EXPECT_EQ(other.turn(), Turn::kTaken);
  one.note(Trying::kNot);
  EXPECT_EQ(one.turn(), Turn::kAsked);
  EXPECT_EQ(other.turn(), Turn::kOpen);
  one.wait(kSecondNs);
  one.note(Trying::kWaits);  // behind the other
  EXPECT_EQ(one.turn(), Turn::kAsked);
  EXPECT_EQ(other.turn(), Turn::kOpen);
  other.note(Trying::kTries);
  EXPECT_EQ(one.turn(), Turn::kTaken);
  other.note(Trying::kNot);
  EXPECT_EQ(one.turn(), Turn::kOpen);
}

TEST(Shares, WhoIsAwayLosesItsTurnAndWhoDoesNotBeginGoesBehind) {
  Shares shares;
  Sharer one(shares);
  Sharer other(shares);
  one.note(Trying::kTries);
  other.wait(11 * kSecondNs);
  EXPECT_EQ(other.turn(), Turn::kOpen);
  other.note(Trying::kTries);
  one.wait(12 * kSecondNs);
  EXPECT_EQ(one.turn(), Turn::kTaken);  // back again
  one.note(Trying::kNot);

  one.note(Trying::kWaits);
  other.wait(2 * kSecondNs);
  other.note(Trying::kWaits);
  EXPECT_EQ(other.turn(), Turn::kAsked);
  for (int i = 0; i < 7; ++i) {
    one.wait(5 * kSecondNs);
    one.note(Trying::kWaits);
    other.wait(5 * kSecondNs);
    other.note(Trying::kWaits);
  }
  EXPECT_EQ(other.turn(), Turn::kOpen);
  EXPECT_EQ(one.turn(), Turn::kAsked);
}

}  // namespace
}  // namespace drapps
