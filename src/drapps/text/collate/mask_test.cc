#include "drapps/text/collate/mask.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace drapps::text {
namespace {

using Numbers = std::vector<std::int64_t>;

struct Masked {
  Numbers ids;
  Numbers labels;
};

Masked masked(const Numbers& ids, const Numbers& special, std::size_t width, const Masking& masking,
              std::uint64_t position = 0, const Numbers& places = {}) {
  Masked batch{ids, Numbers(ids.size())};
  mask_tokens({.ids = batch.ids, .labels = batch.labels, .special = special, .places = places, .width = width}, masking,
              {.seed = 7, .epoch = 2, .position = position});
  return batch;
}

TEST(Mask, ARowDrawsByItsPositionAlone) {
  const Numbers ids(4 * 50, 9);
  const Numbers special(ids.size(), 0);
  const Masking masking{.mask_id = 1, .vocabulary = 100};
  const Masked whole = masked(ids, special, 50, masking, 10);
  const Masked last = masked(Numbers(50, 9), Numbers(50, 0), 50, masking, 13);
  EXPECT_TRUE(std::equal(last.ids.begin(), last.ids.end(), whole.ids.begin() + 150));
  EXPECT_TRUE(std::equal(last.labels.begin(), last.labels.end(), whole.labels.begin() + 150));
}

TEST(Mask, SpecialTokensAreNeverChosen) {
  const Numbers ids{5, 6, 7};
  const Masked all = masked(ids, {1, 0, 1}, 3, {.probability = 1, .replaced = 1, .random = 0, .mask_id = 1});
  EXPECT_EQ(all.ids, (Numbers{5, 1, 7}));
  EXPECT_EQ(all.labels, (Numbers{kIgnored, 6, kIgnored}));
}

TEST(Mask, SharesAreThoseThatWereAskedFor) {
  const std::size_t many = 400'000;  // more than one ordinal has blocks for
  const Numbers ids(many, 500);
  const Masked batch = masked(ids, Numbers(many, 0), many, {.mask_id = 1, .vocabulary = 400});
  const auto chosen = std::count(batch.labels.begin(), batch.labels.end(), 500);
  const auto replaced = std::count(batch.ids.begin(), batch.ids.end(), 1);
  const auto random = std::count_if(batch.ids.begin(), batch.ids.end(), [](std::int64_t id) { return id < 400; });
  EXPECT_NEAR(static_cast<double>(chosen) / static_cast<double>(many), 0.15, 0.004);
  EXPECT_NEAR(static_cast<double>(replaced) / static_cast<double>(chosen), 0.8, 0.01);
  EXPECT_NEAR(static_cast<double>(random) / static_cast<double>(chosen), 0.9, 0.01);
}

TEST(Mask, AWordIsChosenByItsFirstToken) {
  const Numbers places{0, 2, 2, 3, 3, 5, 6, 7, 7, 9};  // two words with a gap between
  Masking masking{.probability = 0.5, .replaced = 1, .random = 0, .mask_id = 1, .whole_words = true};
  int chosen = 0;
  for (std::uint64_t position = 0; position < 64; ++position) {
    const Masked row = masked({5, 5, 5, 6, 6}, Numbers(5, 0), 5, masking, position, places);
    EXPECT_EQ(row.ids[0], row.ids[1]);
    EXPECT_EQ(row.ids[1], row.ids[2]);
    EXPECT_EQ(row.ids[3], row.ids[4]);
    chosen += row.ids[0] == 1 ? 1 : 0;
  }
  EXPECT_GT(chosen, 10);
  EXPECT_LT(chosen, 54);
  const Masked behind = masked({5, 2, 5}, {0, 1, 0}, 3, masking, 0, {0, 2, 2, 2, 2, 3});
  EXPECT_EQ(behind.ids[1], 2);
}

TEST(Mask, IdsThatAreSpecialAreMarked) {
  const Numbers special{2, 4};
  EXPECT_EQ(special_mask(Numbers{4, 3, 2, 0}, special), (Numbers{1, 0, 1, 0}));
}

}  // namespace
}  // namespace drapps::text
