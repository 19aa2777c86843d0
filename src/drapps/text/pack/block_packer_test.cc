#include "drapps/text/pack/block_packer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "drapps/storage/testing.h"
#include "drapps/text/pack/epoch_end.h"
#include "drapps/text/testing.h"

namespace drapps::text {
namespace {

constexpr TokenId kEndId = 256, kPadId = 257;

std::uint32_t sum(const std::vector<std::uint32_t>& row, const std::vector<std::uint32_t>& lengths) {
  return std::accumulate(row.begin(), row.end(), 0u,
                         [&](std::uint32_t all, std::uint32_t i) { return all + lengths[i]; });
}

TEST(BestFit, PiecesGoIntoTheFullestRowThatHasRoom) {
  using Rows = std::vector<std::vector<std::uint32_t>>;
  EXPECT_EQ(best_fit({3, 7, 6, 4, 10}, 10), (Rows{{0, 1}, {2, 3}, {4}}));
  EXPECT_EQ(best_fit({5, 5, 5}, 10), (Rows{{0, 1}, {2}}));
  EXPECT_EQ(best_fit({}, 10), Rows{});
}

TEST(ByBudget, TheLongestComeTogether) {
  const Widths widths{.multiple = 4};
  EXPECT_EQ(by_budget({3, 7, 6, 4, 10, 1}, 16, widths), (Arrangement{{0, 3, 5}, {1, 2}, {4}}));
  EXPECT_EQ(by_budget({9, 9}, 8, {}), (Arrangement{{0}, {1}}));
  EXPECT_EQ(by_budget({}, 8, {}), Arrangement{});
}

TEST(ByBudget, WidthsAreMultiplesOrOfAList) {
  const Widths multiples{.multiple = 8}, listed{.lengths = {16, 64}};
  EXPECT_EQ(multiples.of(0), 8u);
  EXPECT_EQ(multiples.of(8), 8u);
  EXPECT_EQ(multiples.of(9), 16u);
  EXPECT_EQ(listed.of(0), 16u);
  EXPECT_EQ(listed.of(17), 64u);
}

TEST(BestFit, OfLogNormalLengthsLittleIsPadding) {
  std::mt19937_64 random(3);
  std::lognormal_distribution<double> draw(6, 1.2);
  std::uint64_t used = 0, rows = 0;
  for (int block = 0; block < 20; ++block) {
    std::vector<std::uint32_t> lengths;
    for (int i = 0; i < 1024; ++i) {
      auto length = static_cast<std::uint32_t>(std::max(1.0, draw(random)));
      for (; length > 2048; length -= 2048) lengths.push_back(2048);
      lengths.push_back(length);
    }
    const auto packed = best_fit(lengths, 2048);
    std::vector<std::uint32_t> places;
    for (const auto& row : packed) {
      EXPECT_LE(sum(row, lengths), 2048u);
      places.insert(places.end(), row.begin(), row.end());
      used += sum(row, lengths);
    }
    std::sort(places.begin(), places.end());
    std::vector<std::uint32_t> all(lengths.size());
    std::iota(all.begin(), all.end(), 0u);
    EXPECT_EQ(places, all);
    rows += packed.size();
  }
  const double padding = 1 - static_cast<double>(used) / static_cast<double>(rows * 2048);
  RecordProperty("padding", std::to_string(padding));
  EXPECT_LT(padding, 0.02);
}

class BestFitPackerTest : public testing::Test {
 protected:
  BestFitPackerTest() {
    std::string text;
    for (std::size_t i = 0; i < 6000; ++i) {
      lines_.push_back(std::to_string(i) + " " + std::string(mixed(i) % (i % 50 == 0 ? 2000 : 400), 'x'));
      text += lines_.back() + "\n";
      if (i % 1500 == 700) text += "\xFF\n";
    }
    corpus_ = *Corpus::open({folder_.put("some.txt", text)}, {});
  }
  std::unique_ptr<Packer> packer(const PackCursor& at = {}) {
    const Packing how{.fit = Fit::kBestFit, .pad = kPadId, .length = 600, .window = 1, .eos = kEndId, .shuffle = true};
    return make_packer({*corpus_, *Storage::files(), ledger_}, *tokenizer_, how, 0, at);
  }

  Folder folder_;
  MemoryLedger ledger_;
  std::shared_ptr<const Tokenizer> tokenizer_ = byte_tokenizer();
  std::shared_ptr<const Corpus> corpus_;
  std::vector<std::string> lines_;
};

TEST_F(BestFitPackerTest, EveryDocumentComesOnceAnEpochAndIsWholeWhereItFits) {
  const auto rows = packer();
  std::map<std::string, int> times;
  std::size_t cut = 0, used = 0, given = 0;
  PackedRow row;
  while (rows->cursor().epoch == 0) {
    ASSERT_TRUE(rows->next(row).ok());
    EXPECT_TRUE(std::all_of(row.ids.begin() + static_cast<std::ptrdiff_t>(row.used), row.ids.end(),
                            [](TokenId id) { return id == kPadId; }));
    used += row.used;
    given += row.ids.size();
    for (std::size_t i = 0; i < row.documents.size(); ++i) {
      const std::size_t end = i + 1 < row.documents.size() ? row.documents[i + 1] : row.used;
      std::string text;
      for (std::size_t at = row.documents[i]; at < end; ++at) text.push_back(static_cast<char>(row.ids[at]));
      if (row.ids[end - 1] != kEndId || end - row.documents[i] == 600) {
        ++cut;
        continue;
      }
      text.pop_back();
      ++times[text];
    }
  }
  std::size_t short_ones = 0;
  for (const std::string& line : lines_) {
    if (line.size() >= 599) continue;
    ++short_ones;
    EXPECT_EQ(times[line], 1) << line.substr(0, 10);
  }
  EXPECT_GT(short_ones, 5800u);
  EXPECT_GT(cut, 50u);
  EXPECT_GT(static_cast<double>(used), 0.97 * static_cast<double>(given));
  EXPECT_GE(rows->take_errors().size(), 4u);
}

TEST_F(BestFitPackerTest, ARowIsTheSameFromAnyCursorAndErrorsComeOnce) {
  auto rows = packer();
  PackedRow row;
  std::size_t errors = 0;
  for (int i = 0; i < 4000; ++i) {
    const PackCursor at = rows->cursor();
    ASSERT_TRUE(rows->next(row).ok());
    const std::vector<TokenId> ids(row.ids.begin(), row.ids.end());
    const std::size_t new_errors = rows->take_errors().size();
    errors += new_errors;
    if (i % 501 != 0 && new_errors == 0) continue;
    auto again = packer(at);
    PackedRow same;
    EXPECT_EQ(again->cursor(), at);
    ASSERT_TRUE(again->next(same).ok());
    EXPECT_EQ(std::vector(same.ids.begin(), same.ids.end()), ids);
    EXPECT_EQ(again->take_errors().size(), new_errors);
  }
  EXPECT_GE(errors, 4u);
  PackedRow none;
  EXPECT_EQ(packer({.token = 1'000'000})->next(none).error().code, ErrorCode::kInvalidArgument);
}

TEST_F(BestFitPackerTest, ABatchOfABudgetHasAllItsDocumentsOnceAndIsTheSameFromAnyCursor) {
  const Packing how{.fit = Fit::kBudget,
                    .length = 600,
                    .window = 1,
                    .bos = kPadId,
                    .eos = kEndId,
                    .shuffle = true,
                    .truncate = true,
                    .budget = 4096,
                    .widths = {.multiple = 8, .lengths = {}}};
  const auto packer_at = [&](const PackCursor& at) {
    return make_packer({*corpus_, *Storage::files(), ledger_}, *tokenizer_, how, 0, at);
  };
  const auto rows = packer_at({});
  std::map<std::string, int> times;
  std::size_t used = 0, given = 0;
  PackedRow row;
  PackCursor at = rows->cursor();
  for (std::size_t i = 0; at.epoch == 0; ++i, at = rows->cursor()) {
    ASSERT_TRUE(rows->next(row).ok());
    if (i % 61 == 0) {
      const std::vector<TokenId> ids(row.ids.begin(), row.ids.end());
      PackedRow same;
      const auto again = packer_at(at);
      ASSERT_TRUE(again->next(same).ok());
      EXPECT_EQ(std::vector(same.ids.begin(), same.ids.end()), ids);
    }
    std::size_t longest = 0;
    for (std::size_t k = 0; k < row.documents.size(); ++k) {
      const std::size_t end = k + 1 < row.documents.size() ? row.documents[k + 1] : row.used;
      EXPECT_EQ(row.ids[row.documents[k]], kPadId);
      EXPECT_EQ(row.ids[end - 1], kEndId);
      std::string text;
      for (std::size_t j = row.documents[k] + 1; j + 1 < end; ++j) text.push_back(static_cast<char>(row.ids[j]));
      ++times[text];
      longest = std::max(longest, end - row.documents[k]);
    }
    const std::size_t area = how.widths.of(static_cast<std::uint32_t>(longest)) * row.documents.size();
    EXPECT_LE(area, 4096u);
    used += row.used;
    given += area;
  }
  for (const std::string& line : lines_) EXPECT_EQ(times[line.substr(0, 598)], 1) << line.substr(0, 10);
  EXPECT_GT(static_cast<double>(used), 0.9 * static_cast<double>(given));
}

TEST_F(BestFitPackerTest, AnEpochThatEndsHasAsManyRowsAsWereCountedInAnyOrder) {
  const CorpusAccess access{*corpus_, *Storage::files(), ledger_};
  for (const Fit fit : {Fit::kBestFit, Fit::kBudget}) {
    Packing how{.fit = fit, .pad = kPadId, .length = 600, .splits = 2, .eos = kEndId, .shuffle = true};
    how.budget = 4096;
    how.ends = true;
    const auto counts = count_blocks(access, *tokenizer_, how, 0);
    ASSERT_TRUE(counts.ok());
    const std::uint64_t wanted = std::accumulate(counts->begin(), counts->end(), std::uint64_t{0});
    const std::uint64_t rows = rows_of_epoch(*counts, how);
    for (const std::uint32_t epoch : {0u, 5u}) {
      std::uint64_t real = 0;
      for (std::uint32_t split = 0; split < how.splits; ++split) {
        const auto packer = make_packer(access, *tokenizer_, how, split, {.epoch = epoch});
        PackedRow row;
        bool padded = false;
        for (std::uint64_t i = 0; i < rows / how.splits; ++i) {
          const PackCursor at = packer->cursor();
          ASSERT_TRUE(packer->next(row).ok());
          if (row.used > 0) ++real;
          const bool at_end = row.used == 0 && !std::exchange(padded, true);
          if (!at_end && i % 499 != 250) continue;
          PackedRow same;
          const auto again = make_packer(access, *tokenizer_, how, split, at);
          ASSERT_TRUE(again->next(same).ok());
          EXPECT_EQ(same.used, row.used);
          EXPECT_TRUE(std::ranges::equal(same.ids, row.ids));
        }
        ASSERT_TRUE(packer->next(row).ok());
        EXPECT_EQ(row.used, 0u);
        EXPECT_TRUE(row.documents.empty());
        EXPECT_EQ(row.ids.size(), fit == Fit::kBestFit ? 600u : 0u);
      }
      EXPECT_EQ(real, wanted);
    }
  }
}

}  // namespace
}  // namespace drapps::text
