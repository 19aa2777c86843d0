#include "drapps/modality/row_deal.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "drapps/storage/file_identity.h"

namespace drapps {
namespace {

std::vector<RowDeal::DealtSource> some(std::uint64_t seed) {
  std::vector<RowDeal::DealtSource> sources(1 + mixed(seed) % 7);
  for (std::size_t k = 0; k < sources.size(); ++k) {
    sources[k].weight = static_cast<std::uint32_t>(1 + mixed(seed + 100 * k) % (k % 2 == 0 ? 9 : 200));
    sources[k].streams = static_cast<std::uint32_t>(1 + mixed(seed + 1000 * k) % 12);
  }
  return sources;
}

TEST(RowDeal, EachSourceHasItsShareBeforeAnyRow) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const RowDeal deal(some(seed));
    double total = 0;
    for (const auto& source : deal.sources()) total += source.weight;
    std::vector<double> had(deal.sources().size());
    for (std::uint64_t row = 0; row < 2 * static_cast<std::uint64_t>(total); ++row) {
      ++had[deal.source(row)];
      for (std::size_t k = 0; k < had.size(); ++k) {
        const double share = deal.sources()[k].weight / total * static_cast<double>(row + 1);
        ASSERT_LT(std::abs(had[k] - share), 1.0) << seed << " " << row << " " << k;
      }
    }
  }
}

TEST(RowDeal, RowsOfStreamsAreThoseOfAll) {
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    const RowDeal deal(some(seed));
    std::vector<std::uint64_t> given(deal.streams()), of_source(deal.sources().size());
    for (std::uint64_t row = 0; row < 700; ++row) {
      const std::uint32_t k = deal.source(row);
      const RowDeal::DealtSource& source = deal.sources()[k];
      const auto stream = static_cast<std::uint32_t>(source.first + of_source[k]++ % source.streams);
      EXPECT_EQ(deal.source_of(stream), k);
      EXPECT_EQ(deal.rows_before(stream, row), given[stream]);
      EXPECT_EQ(deal.row(stream, given[stream]++), row);
      EXPECT_EQ(deal.rows_before(stream, row + 1), given[stream]);
    }
  }
}

TEST(RowDeal, AStreamThatHasARowOfARankHasOneInEachPeriod) {
  const RowDeal deal({{.weight = 7, .streams = 14}, {.weight = 3, .streams = 5}});
  for (std::uint64_t world = 1; world < 9; ++world) {
    for (std::uint32_t stream = 0; stream < deal.streams(); ++stream) {
      std::vector<bool> ever(world), at_first(world);
      for (std::uint64_t r = 0; r < 5 * deal.period(stream, world); ++r) {
        const std::uint64_t rank = deal.row(stream, r) % world;
        ever[rank] = true;
        if (r < deal.period(stream, world)) at_first[rank] = true;
      }
      EXPECT_EQ(ever, at_first) << world << " " << stream;
    }
  }
}

TEST(RowDeal, StreamsByWeightAreOfOneRankEach) {
  const RowDeal deal({{.weight = 7, .streams = 7 * 8}, {.weight = 3, .streams = 3 * 8}});
  for (const std::uint64_t world : {2u, 4u, 5u, 8u, 10u, 16u}) {
    for (std::uint32_t stream = 0; stream < deal.streams(); ++stream) {
      for (std::uint64_t r = 1; r < 40; ++r) {
        EXPECT_EQ(deal.row(stream, r) % world, deal.row(stream, 0) % world) << world << " " << stream;
      }
    }
  }
}

}  // namespace
}  // namespace drapps
