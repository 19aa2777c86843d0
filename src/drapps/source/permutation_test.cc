#include "drapps/source/permutation.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <numeric>
#include <set>
#include <vector>

namespace drapps {
namespace {

std::vector<std::uint64_t> all_of(std::uint64_t size, std::uint64_t seed, std::uint32_t epoch) {
  const Permutation order(size, seed, epoch);
  std::vector<std::uint64_t> values(size);
  for (std::uint64_t i = 0; i < size; ++i) values[i] = order.at(i);
  return values;
}

/// Deviation of χ² over equally likely cells from its mean, in standard deviations (Wilson–Hilferty).
double chi_square_z(const std::vector<std::uint64_t>& counts) {
  const double total = static_cast<double>(std::accumulate(counts.begin(), counts.end(), std::uint64_t{0}));
  const double expected = total / static_cast<double>(counts.size());
  double chi_square = 0;
  for (const std::uint64_t count : counts) {
    const double off = static_cast<double>(count) - expected;
    chi_square += off * off / expected;
  }
  const double freedom = static_cast<double>(counts.size()) - 1;
  const double spread = 2 / (9 * freedom);
  return (std::cbrt(chi_square / freedom) - (1 - spread)) / std::sqrt(spread);
}

/// Pearson's correlation; of two unrelated orders its standard error is 1 / sqrt(n - 1).
double correlation(const std::vector<std::uint64_t>& a, const std::vector<std::uint64_t>& b) {
  const auto n = static_cast<double>(a.size());
  double mean_a = 0;
  double mean_b = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    mean_a += static_cast<double>(a[i]) / n;
    mean_b += static_cast<double>(b[i]) / n;
  }
  double ab = 0;
  double aa = 0;
  double bb = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double x = static_cast<double>(a[i]) - mean_a;
    const double y = static_cast<double>(b[i]) - mean_b;
    ab += x * y;
    aa += x * x;
    bb += y * y;
  }
  return ab / std::sqrt(aa * bb);
}

double standard_error(std::uint64_t size) { return 1 / std::sqrt(static_cast<double>(size) - 1); }

std::vector<std::uint64_t> positions(std::uint64_t size) {
  std::vector<std::uint64_t> values(size);
  std::iota(values.begin(), values.end(), std::uint64_t{0});
  return values;
}

/// The order against itself moved by one position, around the end.
double lag_one(const std::vector<std::uint64_t>& values) {
  std::vector<std::uint64_t> moved = values;
  std::rotate(moved.begin(), moved.begin() + 1, moved.end());
  return correlation(values, moved);
}

/// Number of an order among all orders of its length.
std::size_t rank_of(const std::vector<std::uint64_t>& values) {
  std::size_t rank = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    std::size_t smaller = 0;
    for (std::size_t j = i + 1; j < values.size(); ++j) smaller += values[j] < values[i] ? 1 : 0;
    rank = rank * (values.size() - i) + smaller;
  }
  return rank;
}

constexpr std::size_t kFactorials[] = {1, 1, 2, 6, 24, 120, 720};

TEST(PermutationTest, EveryIndexOnceAtEverySmallSize) {
  for (std::uint64_t size = 0; size <= 300; ++size) {
    std::vector<std::uint64_t> values = all_of(size, 7, 3);
    std::sort(values.begin(), values.end());
    ASSERT_EQ(values, positions(size)) << size;
  }
}

TEST(PermutationTest, EveryIndexOnceInALargeOrder) {
  for (const std::uint64_t size : {65535u, 65536u, 100003u}) {
    std::vector<std::uint64_t> values = all_of(size, 1, 0);
    std::sort(values.begin(), values.end());
    EXPECT_EQ(values, positions(size));
  }
}

TEST(PermutationTest, NoIndexTwiceAtHugeSizes) {
  for (const std::uint64_t size : {(std::uint64_t{1} << 32) + 1, (std::uint64_t{1} << 40) - 1, std::uint64_t{1} << 40,
                                   Permutation::kMaxSize - 59, Permutation::kMaxSize}) {
    const Permutation order(size, 11, 5);
    std::set<std::uint64_t> values;
    for (std::uint64_t i = 0; i < 20'000; ++i) {
      for (const std::uint64_t position : {i, size - 1 - i, size / 2 + i}) values.insert(order.at(position));
    }
    EXPECT_EQ(values.size(), 60'000u);
    EXPECT_LT(*values.rbegin(), size);
  }
}

TEST(PermutationTest, AllOrdersOfAFewAreEquallyLikely) {
  constexpr std::uint64_t kDraws = 40'000;
  for (const std::uint64_t size : {2u, 3u, 4u, 5u, 6u}) {
    std::vector<std::uint64_t> by_seed(kFactorials[size]);
    std::vector<std::uint64_t> by_epoch(kFactorials[size]);
    for (std::uint64_t draw = 0; draw < kDraws; ++draw) {
      ++by_seed[rank_of(all_of(size, draw, 0))];
      ++by_epoch[rank_of(all_of(size, 123, static_cast<std::uint32_t>(draw)))];
    }
    EXPECT_LT(std::abs(chi_square_z(by_seed)), 3) << size << " by seed";
    EXPECT_LT(std::abs(chi_square_z(by_epoch)), 3) << size << " by epoch";
  }
}

TEST(PermutationTest, PositionTellsNothingOfTheIndexNorOneIndexOfTheNext) {
  // One order of ten says little, so small sizes take the mean over many, whose standard error is the smaller.
  for (const auto& [size, orders] : std::map<std::uint64_t, std::uint32_t>{{10, 20'000}, {1000, 500}, {1'000'000, 1}}) {
    double with_position = 0;
    double with_next = 0;
    for (std::uint32_t epoch = 0; epoch < orders; ++epoch) {
      const std::vector<std::uint64_t> values = all_of(size, 42, epoch);
      with_position += correlation(positions(size), values) / orders;
      with_next += lag_one(values) / orders;
    }
    const double error = standard_error(size) / std::sqrt(static_cast<double>(orders));
    EXPECT_LT(std::abs(with_position), 3 * error) << size;
    // Around the end, an order without replacement has an expected lag-1 correlation of -1 / (n - 1).
    EXPECT_LT(std::abs(with_next + 1 / (static_cast<double>(size) - 1)), 3 * error) << size;
  }
}

TEST(PermutationTest, SeedsAndEpochsAreIndependent) {
  constexpr std::uint64_t kSize = 100'000;
  const std::vector<std::uint64_t> base = all_of(kSize, 5, 0);
  // Neighbouring keys, and seeds that differ in the high half alone.
  const std::vector<std::pair<std::uint64_t, std::uint32_t>> others{{5, 1}, {5, 2}, {5, 0x80000000u},
                                                                    {4, 0}, {6, 0}, {5 + (std::uint64_t{1} << 32), 0}};
  for (const auto& [seed, epoch] : others) {
    const std::vector<std::uint64_t> other = all_of(kSize, seed, epoch);
    EXPECT_LT(std::abs(correlation(base, other)), 3 * standard_error(kSize)) << seed << ' ' << epoch;
    std::uint64_t same = 0;  // Poisson with mean 1
    for (std::uint64_t i = 0; i < kSize; ++i) same += base[i] == other[i] ? 1 : 0;
    EXPECT_LE(same, 7u) << seed << ' ' << epoch;
  }
}

TEST(PermutationTest, PairsOfOrdersAreJointlyUniform) {
  constexpr std::uint64_t kSize = 4;
  constexpr std::uint64_t kDraws = 40'000;
  std::vector<std::uint64_t> next_epoch(24 * 24);
  std::vector<std::uint64_t> next_seed(24 * 24);
  for (std::uint64_t draw = 0; draw < kDraws; ++draw) {
    const std::size_t first = rank_of(all_of(kSize, 2 * draw, 0));
    ++next_epoch[first * 24 + rank_of(all_of(kSize, 2 * draw, 1))];
    ++next_seed[first * 24 + rank_of(all_of(kSize, 2 * draw + 1, 0))];
  }
  EXPECT_LT(std::abs(chi_square_z(next_epoch)), 3);
  EXPECT_LT(std::abs(chi_square_z(next_seed)), 3);
}

TEST(PermutationTest, NeighboursAreScatteredEvenly) {
  constexpr std::uint64_t kSize = std::uint64_t{1} << 18;
  constexpr std::uint64_t kCells = 64;
  const std::vector<std::uint64_t> values = all_of(kSize, 9, 1);
  for (const std::uint64_t lag : {std::uint64_t{1}, std::uint64_t{2}, std::uint64_t{64}, kSize / 2}) {
    std::vector<std::uint64_t> steps(kCells);           // how far from one value to the one `lag` later
    std::vector<std::uint64_t> pairs(kCells * kCells);  // where both lie
    for (std::uint64_t i = 0; i + lag < kSize; ++i) {
      ++steps[(values[i + lag] - values[i]) % kSize * kCells / kSize];
      ++pairs[values[i] * kCells / kSize * kCells + values[i + lag] * kCells / kSize];
    }
    EXPECT_LT(std::abs(chi_square_z(steps)), 3) << lag;
    EXPECT_LT(std::abs(chi_square_z(pairs)), 3) << lag;
  }
}

// The order is part of the documented format of a stream: these numbers never change.
TEST(PermutationTest, OrdersAreTheDocumentedOnes) {
  EXPECT_EQ(all_of(10, 0, 0), (std::vector<std::uint64_t>{0, 6, 2, 3, 5, 9, 4, 1, 8, 7}));
  EXPECT_EQ(Permutation(1'000'000'007, 0x123456789ABCDEF0, 3).at(42), 255008274u);
}

TEST(Permutation, ManyAtOnceAreTheSameAsOneByOne) {
  for (const std::uint64_t size : {1u, 2u, 15u, 16u, 17u, 1000u, 60000u}) {
    const Permutation order(size, 7, 3);
    for (const std::uint64_t first : {std::uint64_t{0}, size / 3, size - 1}) {
      std::vector<std::uint64_t> many(std::min<std::uint64_t>(size - first, 71));
      order.at(first, many);
      for (std::size_t i = 0; i < many.size(); ++i) ASSERT_EQ(many[i], order.at(first + i)) << size << " " << first;
    }
  }
}

}  // namespace
}  // namespace drapps
