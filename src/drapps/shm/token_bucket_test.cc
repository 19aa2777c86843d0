#include "drapps/shm/token_bucket.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <thread>
#include <vector>

namespace drapps {
namespace {

struct Use {
  std::uint64_t at;
  std::uint64_t cost;
};

/// The most that is used in a window of `length`, beyond that length.
std::int64_t most_beyond(std::vector<Use> uses, std::uint64_t length) {
  std::ranges::sort(uses, {}, &Use::at);
  std::int64_t most = 0;
  std::uint64_t sum = 0;
  std::size_t first = 0;
  for (const Use& use : uses) {
    sum += use.cost;
    while (uses[first].at + length < use.at) sum -= uses[first++].cost;
    most = std::max(most, static_cast<std::int64_t>(sum) - static_cast<std::int64_t>(length));
  }
  return most;
}

TEST(TokenBucket, NoWindowHasMoreThanItsLengthAndTheBurst) {
  std::mt19937_64 random(5);
  for (int round = 0; round < 50; ++round) {
    TokenBucket bucket;
    const std::uint64_t burst = 1000 + random() % 5000;
    std::vector<Use> uses;
    std::uint64_t now = 1'000'000, largest = 0;
    for (int i = 0; i < 2000; ++i) {
      now += random() % 4 == 0 ? random() % 20'000 : random() % 500;
      const std::uint64_t cost = 1 + random() % (round % 2 == 0 ? burst : 3 * burst);
      largest = std::max(largest, cost);
      uses.push_back({bucket.book(cost, now, burst), cost});
      EXPECT_GE(uses.back().at, now);
    }
    for (const std::uint64_t length : {0, 1, 500, 10'000, 1'000'000}) {
      EXPECT_LE(most_beyond(uses, length), static_cast<std::int64_t>(std::max(burst, largest))) << length;
    }
  }
}

TEST(TokenBucket, TheRateIsKeptToWhereThereIsAlwaysDemand) {
  TokenBucket bucket;
  std::uint64_t at = 0;
  for (int i = 0; i < 10'000; ++i) at = bucket.book(100, 5'000, 300);
  EXPECT_EQ(at, 5'000u + 10'000 * 100 - 300);
}

TEST(TokenBucket, WhatThereAreNoTokensForIsNotBooked) {
  TokenBucket bucket;
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(bucket.take(100, 1'000, 300));
  EXPECT_FALSE(bucket.take(100, 1'000, 300));
  EXPECT_FALSE(bucket.take(100, 1'099, 300));
  EXPECT_TRUE(bucket.take(100, 1'100, 300));
}

TEST(TokenBucket, ManyThreadsDrawOnOne) {
  TokenBucket bucket;
  std::vector<std::vector<Use>> uses(4);
  {
    std::vector<std::jthread> threads;
    for (auto& mine : uses) {
      threads.emplace_back([&bucket, &mine] {
        for (int i = 0; i < 5'000; ++i) mine.push_back({bucket.book(10, 1'000, 50), 10});
      });
    }
  }
  std::vector<Use> all;
  for (const auto& mine : uses) all.insert(all.end(), mine.begin(), mine.end());
  EXPECT_EQ(std::ranges::max(all, {}, &Use::at).at, 1'000u + 20'000 * 10 - 50);
  EXPECT_LE(most_beyond(all, 100), 50);
}

}  // namespace
}  // namespace drapps
