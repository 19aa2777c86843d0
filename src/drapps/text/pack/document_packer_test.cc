#include "drapps/text/pack/document_packer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include "drapps/storage/testing.h"
#include "drapps/text/pack/epoch_end.h"
#include "drapps/text/pack/parts.h"
#include "drapps/text/testing.h"

namespace drapps::text {
namespace {

constexpr TokenId kStart = 300, kStop = 301;

class DocumentPackerTest : public testing::Test {
 protected:
  DocumentPackerTest() {
    std::string text;
    for (std::size_t i = 0; i < 900; ++i) {
      lines_.push_back(std::to_string(i) + " " + std::string(mixed(i) % 5000, 'x'));
      text += lines_.back() + "\n";
      if (i % 200 == 77) text += "\xFF\n";
    }
    path_ = folder_.put("some.txt", text);
    corpus_ = *Corpus::open({path_}, {});
  }
  std::unique_ptr<Packer> packer(const Packing& how, std::uint32_t split = 0, const PackCursor& at = {}) {
    return make_packer({*corpus_, *Storage::files(), ledger_}, *tokenizer_, how, split, at);
  }
  static std::string text_of(const PackedRow& row) {
    std::string text;
    for (const TokenId id : row.ids) text.push_back(id == kStart ? '<' : id == kStop ? '>' : static_cast<char>(id));
    return text;
  }

  Folder folder_;
  MemoryLedger ledger_;
  std::shared_ptr<const Tokenizer> tokenizer_ = byte_tokenizer();
  std::string path_;
  std::shared_ptr<const Corpus> corpus_;
  std::vector<std::string> lines_;
};

TEST_F(DocumentPackerTest, ALongDocumentIsSplitIntoPartsThatOverlap) {
  const Packing how{.fit = Fit::kDocuments, .length = 1000, .bos = kStart, .eos = kStop, .overlap = 100};
  const auto rows = packer(how);
  PackedRow row;
  for (const std::string& line : lines_) {
    for (std::size_t at = 0;; at += 898) {
      ASSERT_TRUE(rows->next(row).ok());
      ASSERT_EQ(text_of(row), "<" + line.substr(at, 998) + ">");
      EXPECT_EQ(row.used, row.ids.size());
      if (at + 998 >= line.size()) break;
    }
  }
  EXPECT_EQ(rows->take_errors().size(), 5u);
}

TEST_F(DocumentPackerTest, OfALongDocumentTheBeginningIsKeptWhereItIsTruncated) {
  const auto rows = packer({.fit = Fit::kDocuments, .length = 50, .truncate = true});
  PackedRow row;
  for (const std::string& line : lines_) {
    ASSERT_TRUE(rows->next(row).ok());
    ASSERT_EQ(text_of(row), line.substr(0, 50));
  }
}

TEST_F(DocumentPackerTest, ARowIsTheSameFromAnyCursor) {
  const Packing how{.fit = Fit::kDocuments, .length = 700, .splits = 2, .eos = kStop, .shuffle = true, .overlap = 9};
  for (std::uint32_t split = 0; split < 2; ++split) {
    const auto rows = packer(how, split);
    for (int i = 0; i < 5000; ++i) {
      const PackCursor at = rows->cursor();
      PackedRow row, same;
      ASSERT_TRUE(rows->next(row).ok());
      if (i % 211 != 0) continue;
      const auto again = packer(how, split, at);
      EXPECT_EQ(again->cursor(), at);
      ASSERT_TRUE(again->next(same).ok());
      EXPECT_EQ(text_of(same), text_of(row));
    }
    EXPECT_GT(rows->cursor().epoch, 0u);
  }
  PackedRow none;
  EXPECT_EQ(packer(how, 0, {.token = 1'000'000})->next(none).error().code, ErrorCode::kInvalidArgument);
}

TEST_F(DocumentPackerTest, AnEpochThatEndsHasAsManyRowsAsWereCounted) {
  const Packing how{.fit = Fit::kDocuments, .length = 700, .splits = 2, .eos = kStop, .shuffle = true, .ends = true};
  const CorpusAccess access{*corpus_, *Storage::files(), ledger_};
  const auto counts = count_blocks(access, *tokenizer_, how, 0);
  ASSERT_TRUE(counts.ok());
  std::size_t wanted = 0;
  for (const std::string& line : lines_) wanted += parts_of(how, line.size());
  EXPECT_EQ(std::accumulate(counts->begin(), counts->end(), std::size_t{0}), wanted);
  const std::uint64_t rows = rows_of_epoch(*counts, how);
  std::size_t real = 0;
  for (std::uint32_t split = 0; split < 2; ++split) {
    const auto of_split = packer(how, split);
    PackedRow row;
    for (std::uint64_t i = 0; i < rows / 2; ++i) {
      ASSERT_TRUE(of_split->next(row).ok());
      if (row.used > 0) ++real;
    }
    ASSERT_TRUE(of_split->next(row).ok());
    EXPECT_EQ(row.used, 0u);
  }
  EXPECT_EQ(real, wanted);
}

}  // namespace
}  // namespace drapps::text
