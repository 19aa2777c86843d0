#include "drapps/text/corpus/document_index.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "drapps/storage/testing.h"
#include "drapps/text/corpus/arrow_strings.h"
#include "drapps/text/corpus/line_index.h"

namespace drapps::text {
namespace {

class DocumentIndexTest : public testing::Test {
 protected:
  /// All documents by number, each read by itself, last one first; an error as its text.
  static std::vector<std::string> backwards(const Corpus& corpus) {
    const auto reader = corpus.index()->open({corpus, *Storage::files(), MemoryLedger::unlimited()});
    DocumentChunk chunk;
    for (std::uint64_t number = corpus.index()->size(); number-- > 0;) {
      EXPECT_TRUE(reader->read(number, chunk).ok());
    }
    return texts(chunk);
  }
  static std::vector<std::string> texts(const DocumentChunk& chunk) {
    std::vector<std::string> texts;
    for (const auto& one : chunk.each) {
      const bool bad = one.error >= 0;
      texts.emplace_back(bad ? chunk.errors[static_cast<std::size_t>(one.error)].message : chunk.at(one));
    }
    return texts;
  }
  std::vector<std::string> lines(const std::vector<std::string>& contents, CorpusOptions options = {}) {
    std::vector<std::string> paths;
    for (const std::string& content : contents) {
      paths.push_back(folder_.put(std::to_string(paths.size()) + ".txt", content));
    }
    options.by_number = true;
    auto corpus = Corpus::open(paths, options);
    EXPECT_TRUE(corpus.ok()) << corpus.error().to_string();
    std::vector<std::string> documents = backwards(**corpus);
    std::ranges::reverse(documents);
    return documents;
  }

  Folder folder_;
};

TEST_F(DocumentIndexTest, LinesHaveNumbersOverAllFiles) {
  using Lines = std::vector<std::string>;
  EXPECT_EQ(lines({"", "a\n\nbc\r\n", "", "\n\n", "d", ""}), (Lines{"a", "bc", "d"}));
  EXPECT_EQ(lines({"\r\na\n"}), Lines{"a"});
  EXPECT_EQ(lines({"{\"text\":\"x\"}\n  \n{\"text\":\"\"}\n{\"text\":\"y\"}"}, {.format = DocumentFormat::kJsonLines}),
            (Lines{"x", "y"}));
}

TEST_F(DocumentIndexTest, LinesAreFoundWhereverPiecesOfAFileEnd) {
  std::vector<std::string> wanted;
  std::string content;
  for (std::uint64_t i = 0; content.size() < 5 * FileWindow::kMaxPiece; ++i) {
    // Each piece of a file ends another number of bytes before a line feed, behind it too.
    wanted.push_back(std::to_string(i) + std::string(i % 50 == 0 ? FileWindow::kMaxPiece / 4 + i / 50 : 7, 'x'));
    content += wanted.back() + "\n";
  }
  content.insert(FileWindow::kMaxPiece, "\n");
  const auto documents = lines({content});
  std::string joined, expected;
  for (const auto& line : documents) joined += line;
  for (const auto& line : wanted) expected += line;
  EXPECT_EQ(joined, expected);
  EXPECT_LE(documents.size() - wanted.size(), 1u);  // the one that was cut
}

TEST_F(DocumentIndexTest, ALineThatIsTooLongIsBadAndNotReadWhole) {
  const auto documents = lines({"abcd\nabcde\nab\n"}, {.max_document = 4});
  ASSERT_EQ(documents.size(), 3u);
  EXPECT_EQ(documents[0], "abcd");
  EXPECT_TRUE(documents[1].find("max_document") != std::string::npos) << documents[1];
  EXPECT_EQ(documents[2], "ab");
}

TEST_F(DocumentIndexTest, CompressedFilesHaveNone) {
  const std::string path = folder_.put("a.txt.gz", "\x1F\x8B\x08");
  auto corpus = Corpus::open({path}, {.by_number = true});
  ASSERT_FALSE(corpus.ok());
  EXPECT_EQ(corpus.error().code, ErrorCode::kUnsupported);
}

/// Strings as an Arrow file has them, one run behind the other.
template <class Offset>
std::string arrow_of(const std::vector<std::string>& strings, ArrowRun& run, std::string content) {
  std::vector<Offset> offsets{0};
  std::string bytes;
  for (const std::string& one : strings) {
    bytes += one;
    offsets.push_back(static_cast<Offset>(bytes.size()));
  }
  std::string bits((strings.size() + 7) / 8, '\0');
  for (std::size_t i = 0; i < strings.size(); ++i) {
    if (strings[i] != "null") bits[i / 8] = static_cast<char>(bits[i / 8] | 1 << (i % 8));
  }
  run.rows = strings.size();
  run.width = sizeof(Offset);
  run.validity = content.size();
  content += bits;
  run.offsets = content.size();
  content.append(reinterpret_cast<const char*>(offsets.data()), offsets.size() * sizeof(Offset));
  run.content = content.size();
  run.bytes = bytes.size();
  return content + bytes;
}

TEST_F(DocumentIndexTest, RowsOfArrowFilesAreReadByBlocksAndByNumber) {
  std::vector<std::string> strings, wanted;
  for (std::size_t i = 0; i < 3000; ++i) {
    std::string one = i % 11 == 0 ? "null" : i % 7 == 0 ? "" : std::to_string(i) + std::string(i % 5000, 'x');
    if (!one.empty() && one != "null") wanted.push_back(one);
    strings.push_back(std::move(one));
  }
  ArrowRun first, second;
  const std::size_t half = 1001;
  std::string content = "ARROW1..";
  content = arrow_of<std::int32_t>({strings.begin(), strings.begin() + half}, first, content);
  content = arrow_of<std::int64_t>({strings.begin() + half, strings.end()}, second, content);
  const std::string path = folder_.put("a.arrow", content);
  auto corpus = Corpus::arrow({path}, {first, second}, {.by_number = true});
  ASSERT_TRUE(corpus.ok()) << corpus.error().to_string();
  EXPECT_EQ((*corpus)->blocks().size(), 3u);

  std::vector<std::string> documents;
  for (const Block& block : (*corpus)->blocks()) {
    const auto reader = read_documents({**corpus, *Storage::files(), MemoryLedger::unlimited()}, block);
    DocumentChunk chunk;
    while (*reader->next(chunk)) {
      for (const auto& one : chunk.each) {
        documents.emplace_back(chunk.at(one));
        EXPECT_EQ(strings[one.at], documents.back());
      }
    }
  }
  EXPECT_EQ(documents, wanted);
  auto reversed = backwards(**corpus);
  std::ranges::reverse(reversed);
  EXPECT_EQ(reversed, wanted);
}

TEST_F(DocumentIndexTest, OffsetsThatLieAreAnErrorInThePlaceOfTheirRows) {
  ArrowRun run;
  std::string content = arrow_of<std::int32_t>({"one", "two", "three"}, run, "ARROW1..");
  for (const std::int32_t wrong : {-1, 2, 1 << 30}) {
    std::string damaged = content;
    std::memcpy(damaged.data() + run.offsets + 8, &wrong, sizeof(wrong));
    const std::string path = folder_.put("damaged.arrow", damaged);
    auto corpus = Corpus::arrow({path}, {run}, {.by_number = true});
    ASSERT_TRUE(corpus.ok());
    const auto documents = backwards(**corpus);
    ASSERT_EQ(documents.size(), 3u);
    EXPECT_TRUE(documents[1].find("outside") != std::string::npos) << documents[1];
    EXPECT_EQ(documents[2], "one");
  }
}

TEST_F(DocumentIndexTest, RunsOutsideOfTheirFileAreTruncated) {
  ArrowRun run;
  const std::string content = arrow_of<std::int64_t>({"one", "two"}, run, "ARROW1..");
  const std::string path = folder_.put("short.arrow", content);
  const auto refused = [&](auto change) {
    ArrowRun changed = run;
    change(changed);
    auto corpus = Corpus::arrow({path}, {changed}, {});
    return !corpus.ok();
  };
  EXPECT_FALSE(refused([](ArrowRun&) {}));
  EXPECT_TRUE(refused([](ArrowRun& one) { one.bytes += 1; }));
  EXPECT_TRUE(refused([](ArrowRun& one) { one.offsets = ~std::uint64_t{0} - 3; }));
  EXPECT_TRUE(refused([](ArrowRun& one) { one.rows = ~std::uint64_t{0} / 8; }));
  EXPECT_TRUE(refused([](ArrowRun& one) { one.rows = 0; }));
  EXPECT_TRUE(refused([](ArrowRun& one) { one.width = 3; }));
  EXPECT_TRUE(refused([](ArrowRun& one) { one.file = 1; }));
  EXPECT_TRUE(refused([&](ArrowRun& one) { one.validity = content.size(); }));
}

}  // namespace
}  // namespace drapps::text
