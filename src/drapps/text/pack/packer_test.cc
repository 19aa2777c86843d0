#include "drapps/text/pack/packer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "drapps/storage/testing.h"
#include "drapps/text/testing.h"

namespace drapps::text {
namespace {

constexpr TokenId kEos = 256;

class PackerTest : public testing::Test {
 protected:
  /// Lines of some sizes, each with its number; in three files.
  std::shared_ptr<const Corpus> corpus(std::size_t documents, std::size_t largest = 5000) {
    std::vector<std::string> paths;
    for (std::size_t file = 0; file < 3; ++file) {
      std::string text;
      for (std::size_t i = file; i < documents; i += 3) {
        const std::string number = std::to_string(i) + " ";
        text += number + std::string(mixed(i) % largest, 'x') + "\n";
      }
      paths.push_back(folder_.put(std::to_string(file) + ".txt", text));
    }
    auto opened = Corpus::open(paths, {});
    EXPECT_TRUE(opened.ok()) << opened.error().to_string();
    return *opened;
  }
  static std::string line(std::size_t i, std::size_t largest = 5000) {
    return std::to_string(i) + " " + std::string(mixed(i) % largest, 'x');
  }
  Packing packing(const Corpus& corpus) const {
    return {.length = 512,
            .splits = std::max<std::uint32_t>(2, default_splits(corpus.blocks().size())),
            .eos = kEos,
            .shuffle = true,
            .seed = 7};
  }
  std::unique_ptr<Packer> packer(const std::shared_ptr<const Corpus>& corpus, const Packing& packing,
                                 std::uint32_t split, const PackCursor& at = {}) {
    return make_packer({*corpus, *Storage::files(), ledger_}, *tokenizer_, packing, split, at);
  }
  static std::vector<TokenId> next(Packer& packer) {
    PackedRow row;
    const Status status = packer.next(row);
    EXPECT_TRUE(status.ok()) << status.error().to_string();
    return {row.ids.begin(), row.ids.end()};
  }

  Folder folder_;
  MemoryLedger ledger_;
  std::shared_ptr<const Tokenizer> tokenizer_ = byte_tokenizer();
};

TEST_F(PackerTest, EveryDocumentComesOnceAnEpochInAnotherOrder) {
  const auto all = corpus(3000);
  const Packing how = packing(*all);
  std::vector<std::string> first_order;
  for (std::uint32_t epoch = 0; epoch < 2; ++epoch) {
    std::map<std::string, int> times;
    std::vector<std::string> order;
    for (std::uint32_t split = 0; split < how.splits; ++split) {
      // What a split's documents are follows from where an epoch ends in its stream.
      auto rows = packer(all, how, split, {.epoch = epoch});
      std::string text;
      PackedRow row;
      while (rows->cursor().epoch == epoch) {
        ASSERT_TRUE(rows->next(row).ok());
        for (const TokenId id : row.ids) text.push_back(id == kEos ? '\n' : static_cast<char>(id));
      }
      std::size_t begin = 0;
      for (std::size_t end; (end = text.find('\n', begin)) != std::string::npos; begin = end + 1) {
        order.push_back(text.substr(begin, end - begin));
        ++times[order.back()];
      }
    }
    // The last row of each split reaches into its next epoch, and no farther.
    std::size_t more = 0;
    for (std::size_t i = 0; i < 3000; ++i) {
      EXPECT_GE(times[line(i)], 1) << i;
      more += static_cast<std::size_t>(times[line(i)]) - 1;
    }
    EXPECT_LE(more, how.splits * 30);
    EXPECT_NE(order, first_order);
    first_order = order;
  }
}

TEST_F(PackerTest, RowsFollowOneAnotherWithoutAGap) {
  const auto all = corpus(400);
  Packing how = packing(*all);
  how.shuffle = false;
  how.splits = 1;
  auto rows = packer(all, how, 0);
  std::string text;
  for (int i = 0; i < 1500; ++i) {
    for (const TokenId id : next(*rows)) text.push_back(id == kEos ? '\n' : static_cast<char>(id));
  }
  std::string expected;
  while (expected.size() < text.size()) {
    for (std::size_t file = 0; file < 3; ++file) {
      for (std::size_t i = file; i < 400; i += 3) expected += line(i) + "\n";
    }
  }
  EXPECT_EQ(text, expected.substr(0, text.size()));
}

TEST_F(PackerTest, WhatIsReadAheadChangesNoRowAndStaysWithinTheMemory) {
  constexpr std::size_t kTight = std::size_t{60} << 20;
  const auto all = corpus(8000);
  Packing how = packing(*all);
  how.splits = 2;  // so that each has several windows
  for (const bool ends : {false, true}) {
    how.ends = ends;
    MemoryLedger ample, tight(kTight);
    const auto one = byte_tokenizer(), other = byte_tokenizer();  // the encoders of each are booked
    const auto ahead = make_packer({*all, *Storage::files(), ample}, *one, how, 1, {});
    const auto when_needed = make_packer({*all, *Storage::files(), tight}, *other, how, 1, {});
    for (int i = 0; i < 12'000; ++i) {
      ASSERT_EQ(next(*ahead), next(*when_needed)) << i;
      ASSERT_EQ(ahead->cursor(), when_needed->cursor()) << i;
    }
    if (!ends) {
      EXPECT_GT(ample.peak(), tight.peak() + (std::size_t{2} << 20));
    }
    EXPECT_LE(tight.peak(), kTight);
  }
}

TEST_F(PackerTest, ARowIsTheSameFromAnyCursor) {
  const auto all = corpus(2000);
  Packing how = packing(*all);
  how.lookahead = 1;
  for (std::uint32_t split = 0; split < 2; ++split) {
    auto rows = packer(all, how, split);
    std::vector<std::pair<PackCursor, std::vector<TokenId>>> seen;
    for (int i = 0; i < 12'000; ++i) {
      const PackCursor at = rows->cursor();
      auto ids = next(*rows);
      if (i % 997 == 0) seen.emplace_back(at, std::move(ids));
    }
    EXPECT_GT(seen.back().first.epoch, 0u);
    for (const auto& [at, ids] : seen) {
      auto again = packer(all, how, split, at);
      EXPECT_EQ(again->cursor(), at);
      EXPECT_EQ(next(*again), ids);
    }
  }
}

TEST_F(PackerTest, CursorsThatFitNoDocumentAreRefused) {
  const auto all = corpus(100);
  PackedRow row;
  for (const std::uint64_t token : {std::uint64_t{100'000}, std::numeric_limits<std::uint64_t>::max()}) {
    auto rows = packer(all, packing(*all), 0, {.token = token});
    EXPECT_EQ(rows->next(row).error().code, ErrorCode::kInvalidArgument);
  }
  constexpr std::uint32_t kFar = std::numeric_limits<std::uint32_t>::max();
  auto rows = packer(all, packing(*all), 0, {.epoch = 3, .place = kFar, .piece = kFar, .document = kFar});
  EXPECT_TRUE(rows->next(row).ok());
}

TEST_F(PackerTest, DocumentsBeginWhereTheyAreSaidTo) {
  const auto all = corpus(500, 300);
  Packing how = packing(*all);
  how.bos = 257;
  auto rows = packer(all, how, 1);
  PackedRow row;
  for (int i = 0; i < 200; ++i) {
    ASSERT_TRUE(rows->next(row).ok());
    std::vector<std::uint32_t> begins;
    for (std::uint32_t at = 0; at < row.ids.size(); ++at) {
      if (row.ids[at] == 257) begins.push_back(at);
    }
    EXPECT_EQ(begins, std::vector(row.documents.begin(), row.documents.end()));
  }
}

TEST_F(PackerTest, ADocumentIsHeldOutOrNot) {
  const auto all = corpus(1000, 50);
  std::map<Take, std::set<std::string>> lines;
  for (const Take take : {Take::kAll, Take::kTraining, Take::kHeldOut}) {
    Packing how{.length = 64, .eos = kEos, .take = take, .held_out = 0.1};
    auto rows = packer(all, how, 0);
    std::string text;
    while (rows->cursor().epoch == 0) {
      for (const TokenId id : next(*rows)) text.push_back(id == kEos ? '\n' : static_cast<char>(id));
    }
    text.resize(text.rfind('\n') + 1);
    for (std::size_t begin = 0; begin < text.size();) {
      const std::size_t end = text.find('\n', begin);
      lines[take].insert(text.substr(begin, end - begin));
      begin = end + 1;
    }
  }
  EXPECT_EQ(lines[Take::kAll].size(), 1000u);
  EXPECT_NEAR(static_cast<double>(lines[Take::kHeldOut].size()), 100, 40);
  std::set<std::string> both = lines[Take::kTraining];
  for (const std::string& line : lines[Take::kHeldOut]) EXPECT_TRUE(both.insert(line).second) << line;
  EXPECT_EQ(both, lines[Take::kAll]);
}

TEST_F(PackerTest, BadDocumentsArePassedOverAndNamed) {
  const std::string path = folder_.put("bad.txt", "first\nbr\xFFken\nlast\n");
  const auto bad = *Corpus::open({path}, {});
  auto rows = packer(bad, {.length = 10, .eos = kEos}, 0);
  next(*rows);
  const auto errors = rows->take_errors();
  ASSERT_FALSE(errors.empty());
  EXPECT_EQ(errors[0].path, path);
  EXPECT_EQ(errors[0].offset, 6);
}

TEST_F(PackerTest, ASplitWithoutGoodDocumentsIsAnError) {
  for (const char* text : {"\n\n\n", "\xFF\n\xFE\n"}) {
    const auto none = *Corpus::open({folder_.put("none.txt", text)}, {});
    auto rows = packer(none, {.length = 10}, 0);
    PackedRow row;
    EXPECT_EQ(rows->next(row).error().code, ErrorCode::kNoGoodData);
    EXPECT_EQ(rows->next(row).error().code, ErrorCode::kNoGoodData);
  }
}

TEST_F(PackerTest, WithoutMemoryARowIsTriedAgainAndIsTheSame) {
  const auto all = corpus(2000);
  auto expected = packer(all, packing(*all), 0);
  MemoryLedger small(std::size_t{1} << 20);
  const auto tokenizer = byte_tokenizer();
  const auto rows = make_packer({*all, *Storage::files(), small}, *tokenizer, packing(*all), 0, {});
  PackedRow row;
  for (int i = 0; i < 50; ++i) {
    small.set_limit(std::size_t{1} << 20);
    while (!rows->next(row).ok()) small.set_limit(small.limit() + (std::size_t{1} << 20));
    EXPECT_EQ(std::vector(row.ids.begin(), row.ids.end()), next(*expected));
  }
}

TEST_F(PackerTest, MemoryIsGivenBack) {
  const auto all = corpus(1000);
  next(*packer(all, packing(*all), 0));
  const std::size_t of_tokenizer = ledger_.used();
  {
    const auto rows = packer(all, packing(*all), 0);
    next(*rows);
    EXPECT_GT(ledger_.used(), of_tokenizer);
  }
  EXPECT_EQ(ledger_.used(), of_tokenizer);
}

}  // namespace
}  // namespace drapps::text
