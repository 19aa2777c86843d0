#include "drapps/text/pack/best_fit.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "drapps/storage/testing.h"
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
  while (true) {
    ASSERT_TRUE(rows->next(row).ok());
    if (rows->cursor().epoch > 0) break;  // the row is of the next one
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

}  // namespace
}  // namespace drapps::text
