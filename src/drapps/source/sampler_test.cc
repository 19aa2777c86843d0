#include "drapps/source/sampler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <utility>
#include <vector>

namespace drapps {
namespace {

using testing::HasSubstr;

Sampler make(const SamplerSpec& spec, std::uint32_t epoch = 0, std::uint64_t start = 0, IndexList subset = nullptr) {
  Result<Sampler> sampler = Sampler::make(spec, epoch, start, std::move(subset));
  EXPECT_TRUE(sampler.ok()) << (sampler.ok() ? "" : sampler.error().message);
  return std::move(*sampler);
}

std::vector<Sampler> ranks_of(SamplerSpec spec, std::int32_t world, std::uint32_t epoch = 0, std::uint64_t start = 0) {
  std::vector<Sampler> ranks;
  spec.world = world;
  for (spec.rank = 0; spec.rank < world; ++spec.rank) ranks.push_back(make(spec, epoch, start));
  return ranks;
}

/// All rows of one step, rank after rank.
std::vector<Sampler::Row> rows_of_step(const std::vector<Sampler>& ranks, std::uint64_t step) {
  std::vector<Sampler::Row> rows;
  for (const Sampler& rank : ranks) {
    for (std::uint32_t row = 0; row < rank.batch(step).rows; ++row) rows.push_back(rank.row(step, row));
  }
  return rows;
}

std::vector<std::uint64_t> indices_of(const Sampler& sampler) {
  std::vector<std::uint64_t> indices;
  for (std::uint64_t step = 0; step < sampler.steps(); ++step) {
    for (std::uint32_t row = 0; row < sampler.batch(step).rows; ++row) indices.push_back(sampler.row(step, row).index);
  }
  return indices;
}

TEST(SamplerTest, EveryPositionOnceInOrderAtAnyWorldBatchAndStart) {
  std::mt19937 random(1);
  const auto below = [&random](std::uint32_t bound) {
    return std::uniform_int_distribution<std::uint32_t>(0, bound - 1)(random);
  };
  int even = 0;
  for (int round = 0; round < 3000; ++round) {
    SamplerSpec spec{.size = below(200), .shuffle = below(2) == 1, .seed = below(5)};
    spec.batch = 1 + below(9);
    spec.remainder = static_cast<Remainder>(below(3));
    spec.world = 1 + static_cast<std::int32_t>(below(6));
    const std::uint64_t start = below(static_cast<std::uint32_t>(spec.size) + 1);
    const std::uint64_t global = static_cast<std::uint64_t>(spec.world) * spec.batch;
    const std::uint64_t tail = (spec.size - start) % global;
    if (spec.remainder == Remainder::kEven && tail != 0 && tail < static_cast<std::uint64_t>(spec.world)) {
      ASSERT_FALSE(Sampler::make(spec, 0, start).ok());
      continue;
    }
    even += spec.remainder == Remainder::kEven ? 1 : 0;

    const std::vector<Sampler> ranks = ranks_of(spec, spec.world, 7, start);
    const Permutation order(spec.size, spec.seed, 7);
    std::uint64_t expected = start;
    std::uint64_t padded = 0;
    for (std::uint64_t step = 0; step < ranks[0].steps(); ++step) {
      std::uint32_t fewest = UINT32_MAX;
      std::uint32_t most = 0;
      for (const Sampler& rank : ranks) {
        ASSERT_EQ(rank.steps(), ranks[0].steps());
        ASSERT_EQ(rank.position_after(step), ranks[0].position_after(step));
        fewest = std::min(fewest, rank.batch(step).rows);
        most = std::max(most, rank.batch(step).rows);
      }
      ASSERT_GE(fewest, 1u);
      ASSERT_LE(most, spec.batch);
      ASSERT_LE(most - fewest, 1u);
      for (const Sampler::Row& row : rows_of_step(ranks, step)) {
        ASSERT_EQ(row.position, expected++) << "rank after rank, the rows of a step follow one another";
        ASSERT_EQ(row.padded, row.position >= spec.size);
        padded += row.padded ? 1 : 0;
        const std::uint64_t place = row.position % spec.size;
        ASSERT_EQ(row.index, spec.shuffle ? order.at(place) : place);
      }
      ASSERT_EQ(ranks[0].position_after(step), std::min(expected, spec.size));
    }
    ASSERT_EQ(expected - padded + ranks[0].dropped().count, spec.size);
    std::uint64_t rows = 0;
    std::uint64_t flagged = 0;
    for (const Sampler& rank : ranks) {
      rows += rank.rows();
      for (std::uint64_t step = 0; step < rank.steps(); ++step) flagged += rank.batch(step).padded;
    }
    ASSERT_EQ(rows, expected - start);
    ASSERT_EQ(flagged, padded);
  }
  EXPECT_GT(even, 500) << "the cases that raise must not be most of them";
}

TEST(SamplerTest, WorldChangesInMidEpochDeliverEverySampleExactlyOnce) {
  for (const auto& [before, after] :
       std::vector<std::pair<std::int32_t, std::int32_t>>{{3, 2}, {2, 3}, {4, 1}, {1, 4}}) {
    SamplerSpec spec{.size = 1000, .shuffle = true, .seed = 3};
    spec.batch = 7;
    const std::vector<Sampler> first = ranks_of(spec, before, 2);
    for (std::uint64_t stop = 1; stop <= first[0].steps(); ++stop) {
      std::multiset<std::uint64_t> seen;
      for (std::uint64_t step = 0; step < stop; ++step) {
        for (const Sampler::Row& row : rows_of_step(first, step)) seen.insert(row.index);
      }
      const std::vector<Sampler> second = ranks_of(spec, after, 2, first[0].position_after(stop - 1));
      for (std::uint64_t step = 0; step < second[0].steps(); ++step) {
        for (const Sampler::Row& row : rows_of_step(second, step)) seen.insert(row.index);
      }
      ASSERT_EQ(seen.size(), spec.size) << before << " to " << after << " after " << stop;
      ASSERT_EQ(std::set<std::uint64_t>(seen.begin(), seen.end()).size(), spec.size);
    }
  }
}

TEST(SamplerTest, EvenRaisesWithCountsAndFixWhereARankWouldGetNothing) {
  SamplerSpec spec{.size = 43};
  spec.world = 4;
  spec.batch = 10;
  const auto sampler = Sampler::make(spec, 0);
  ASSERT_FALSE(sampler.ok());
  EXPECT_EQ(sampler.error().code, ErrorCode::kInvalidArgument);
  for (const char* part : {"43 samples", "leave 3", "4 ranks", "\"pad\"", "\"drop\""}) {
    EXPECT_THAT(sampler.error().message, HasSubstr(part));
  }
  spec.size = 44;
  EXPECT_EQ(make(spec).batch(1).rows, 1u);
}

TEST(SamplerTest, PadRepeatsTheStartOfTheOrderEvenSeveralTimes) {
  SamplerSpec spec{.size = 3, .shuffle = true, .seed = 8};
  spec.batch = 8;
  spec.remainder = Remainder::kPad;
  const Sampler sampler = make(spec);
  EXPECT_EQ(sampler.batch(0).padded, 5u);
  for (std::uint32_t row = 0; row < 8; ++row) {
    EXPECT_EQ(sampler.row(0, row).index, sampler.row(0, row % 3).index);
    EXPECT_EQ(sampler.row(0, row).position, row) << "a repeat has its own coordinate, hence its own augmentation";
  }
}

TEST(SamplerTest, DropNamesWhatItDropped) {
  SamplerSpec spec{.size = 103};
  spec.world = 2;
  spec.batch = 10;
  spec.remainder = Remainder::kDrop;
  const Sampler sampler = make(spec);
  EXPECT_EQ(sampler.steps(), 5u);
  EXPECT_EQ(sampler.dropped().first_position, 100u);
  EXPECT_EQ(sampler.dropped().count, 3u);
  EXPECT_EQ(make(spec, 0, 100).steps(), 0u);
}

TEST(SamplerTest, WrongUseIsNamed) {
  EXPECT_THAT(Sampler::make({.size = 5, .rank = 2, .world = 2}, 0).error().message, HasSubstr("rank 2"));
  EXPECT_THAT(Sampler::make({.size = 5, .rank = 0, .world = 0}, 0).error().message, HasSubstr("world of 0"));
  EXPECT_THAT(Sampler::make({.size = 5, .batch = 0}, 0).error().message, HasSubstr("batch"));
  EXPECT_THAT(Sampler::make({.size = 5}, 0, 6).error().message, HasSubstr("position 6"));
  EXPECT_FALSE(Sampler::make({.size = Permutation::kMaxSize + 1}, 0).ok());
  EXPECT_THAT(Sampler::make({.size = 5}, 0, 0, std::make_shared<const std::vector<std::uint64_t>>(4)).error().message,
              HasSubstr("4 indices"));
}

TEST(SamplerTest, NothingToDoIsNoStep) {
  for (const Remainder remainder : {Remainder::kEven, Remainder::kPad, Remainder::kDrop}) {
    SamplerSpec spec{.size = 0, .shuffle = true, .remainder = remainder};
    EXPECT_EQ(make(spec).steps(), 0u);
    EXPECT_EQ(make(spec).rows(), 0u);
    spec.size = 9;
    EXPECT_EQ(make(spec, 0, 9).steps(), 0u);
  }
}

TEST(SamplerTest, SubsetMapsTheOrderOntoItsIndices) {
  const auto subset =
      std::make_shared<const std::vector<std::uint64_t>>(std::vector<std::uint64_t>{70, 10, 40, 10, 30});
  SamplerSpec spec{.size = 5, .shuffle = true, .seed = 1};
  spec.batch = 2;
  std::vector<std::uint64_t> indices = indices_of(make(spec, 4, 0, subset));
  const Permutation order(5, 1, 4);
  for (std::uint64_t i = 0; i < 5; ++i) EXPECT_EQ(indices[i], (*subset)[order.at(i)]);
}

TEST(SamplerTest, ExplicitOrderIsKeptAndItsPositionIsTheRanksOwnCount) {
  const auto order =
      std::make_shared<const std::vector<std::uint64_t>>(std::vector<std::uint64_t>{9, 9, 2, 5, 0, 1, 7});
  SamplerSpec spec{.seed = 77, .rank = 3, .world = 8};
  spec.batch = 3;
  const Sampler sampler = std::move(*Sampler::make_explicit(spec, order, 0));
  EXPECT_EQ(indices_of(sampler), *order);
  EXPECT_EQ(sampler.row(1, 2).position, 5u);
  EXPECT_EQ(sampler.batch(2).rows, 1u);

  const Sampler rest = std::move(*Sampler::make_explicit(spec, order, 0, sampler.position_after(0)));
  EXPECT_EQ(indices_of(rest), (std::vector<std::uint64_t>{5, 0, 1, 7}));

  spec.rank = 4;
  const Sampler neighbour = std::move(*Sampler::make_explicit(spec, order, 0));
  EXPECT_NE(neighbour.coordinate(0).seed, sampler.coordinate(0).seed) << "ranks draw different augmentations";
  spec.rank = 0;
  EXPECT_EQ(Sampler::make_explicit(spec, order, 0)->coordinate(0).seed, 77u);
}

TEST(SamplerTest, ReplacementIsTheSameAtAnyWorldAndUniform) {
  constexpr std::uint64_t kSize = 10;
  SamplerSpec spec{.size = kSize, .shuffle = true, .seed = 6};
  const Sampler alone = make(spec, 1);
  spec.world = 5;
  spec.rank = 3;
  const Sampler one_of_five = make(spec, 1);
  std::map<std::uint64_t, int> chosen;
  for (std::uint64_t position = 0; position < 2000; ++position) {
    for (std::uint32_t attempt = 0; attempt < 3; ++attempt) {
      const std::uint64_t index = alone.replacement(position, attempt);
      ASSERT_EQ(index, one_of_five.replacement(position, attempt));
      ++chosen[index];
    }
  }
  ASSERT_EQ(chosen.size(), kSize);
  for (const auto& [index, count] : chosen) EXPECT_NEAR(count, 600, 4 * 24) << index;  // four standard deviations
  EXPECT_LT(chosen.rbegin()->first, kSize);
}

TEST(Sampler, IndicesAreThoseOfTheRows) {
  const auto list = std::make_shared<const std::vector<std::uint64_t>>(std::vector<std::uint64_t>{9, 3, 3, 0, 7, 5, 1});
  for (const bool shuffle : {false, true}) {
    for (const IndexList& order : {IndexList(), list}) {
      const SamplerSpec spec{
          .size = 7, .shuffle = shuffle, .seed = 5, .rank = 1, .world = 2, .batch = 3, .remainder = Remainder::kPad};
      const auto sampler = Sampler::make(spec, 2, 0, order);
      ASSERT_TRUE(sampler.ok());
      for (std::uint64_t step = 0; step < sampler->steps(); ++step) {
        for (std::uint32_t first = 0; first < sampler->batch(step).rows; ++first) {
          std::vector<std::uint64_t> indices(sampler->batch(step).rows - first);
          sampler->indices(step, first, indices);
          for (std::uint32_t i = 0; i < indices.size(); ++i) {
            EXPECT_EQ(indices[i], sampler->row(step, first + i).index) << step << " " << first + i;
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace drapps
