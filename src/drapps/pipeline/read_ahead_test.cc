#include "drapps/pipeline/read_ahead.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace drapps {
namespace {

Sampler five_in_twos() { return *Sampler::make({.size = 5, .batch = 2, .remainder = Remainder::kPad}, 0); }

TEST(ReadAhead, SamplesBeginInTheOrderOfThePass) {
  const Sampler sampler = five_in_twos();
  ReadAhead ahead(sampler);
  std::vector<std::pair<std::uint64_t, std::uint32_t>> rows;
  for (std::uint64_t number = 0; !ahead.ended(); ++number) {
    const std::uint64_t step = ahead.step();
    const ReadAhead::NextSample next = ahead.next();
    EXPECT_EQ(next.step, step);
    EXPECT_EQ(next.number, number);
    EXPECT_EQ(next.sample.index, sampler.row(next.step, next.row).index);
    rows.emplace_back(next.step, next.row);
  }
  EXPECT_EQ(rows.size(), sampler.rows());
  EXPECT_EQ(rows[0], std::pair(std::uint64_t{0}, 0u));
  EXPECT_EQ(rows[1], std::pair(std::uint64_t{0}, 1u));
  EXPECT_EQ(rows[2], std::pair(std::uint64_t{1}, 0u));
  EXPECT_EQ(ahead.step(), sampler.steps());
}

TEST(ReadAhead, SamplesAreThoseOfTheSampler) {
  const Sampler sampler =
      *Sampler::make({.size = 130, .shuffle = true, .seed = 3, .batch = 50, .remainder = Remainder::kPad}, 1);
  ReadAhead ahead(sampler);
  std::uint64_t padded = 0;
  while (!ahead.ended()) {
    const ReadAhead::NextSample next = ahead.next();
    const Sampler::Row row = sampler.row(next.step, next.row);
    ASSERT_EQ(next.sample.index, row.index) << next.step << " " << next.row;
    ASSERT_EQ(next.sample.position, row.position);
    ASSERT_EQ(next.sample.padded, row.padded);
    padded += row.padded ? 1 : 0;
  }
  EXPECT_EQ(padded, 20u);
}

TEST(ReadAhead, TwoTriesInARowChangeTheMind) {
  const Sampler sampler = five_in_twos();
  ReadAhead ahead(sampler);
  EXPECT_TRUE(ahead.at_once());
  ahead.tried(false);
  ahead.tried(true);
  ahead.tried(false);
  EXPECT_TRUE(ahead.at_once());
  ahead.tried(false);
  EXPECT_FALSE(ahead.at_once());
  ahead.tried(true);
  EXPECT_FALSE(ahead.at_once());
  ahead.tried(true);
  EXPECT_TRUE(ahead.at_once());
}

TEST(ReadAhead, OneSampleInSoManyIsTriedAgain) {
  const Sampler sampler = *Sampler::make({.size = 4 * ReadAhead::kProbeEvery, .batch = 8}, 0);
  ReadAhead ahead(sampler);
  int probes = 0;
  while (!ahead.ended()) {
    ahead.next();
    probes += ahead.probes() ? 1 : 0;
  }
  EXPECT_EQ(probes, 4);
}

TEST(ReadAhead, CountsWhatTheReaderHas) {
  const Sampler sampler = five_in_twos();
  ReadAhead ahead(sampler);
  EXPECT_EQ(ahead.submit(), 0u);
  EXPECT_EQ(ahead.submit(), 1u);
  ahead.read();
  EXPECT_EQ(ahead.reading(), 1u);
}

}  // namespace
}  // namespace drapps
