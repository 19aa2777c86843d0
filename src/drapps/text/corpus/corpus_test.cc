#include "drapps/text/corpus/corpus.h"

#include <gtest/gtest.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "drapps/storage/testing.h"
#include "drapps/text/corpus/document_reader.h"

namespace drapps::text {
namespace {

std::string zstd_frame(std::string_view content, bool sized = true) {
  std::string out(ZSTD_compressBound(content.size()), '\0');
  ZSTD_CCtx* const context = ZSTD_createCCtx();
  ZSTD_CCtx_setParameter(context, ZSTD_c_contentSizeFlag, sized ? 1 : 0);
  ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1);
  out.resize(ZSTD_compress2(context, out.data(), out.size(), content.data(), content.size()));
  ZSTD_freeCCtx(context);
  return out;
}

std::string gzip(std::string_view content) {
  z_stream stream{};
  EXPECT_EQ(deflateInit2(&stream, 6, Z_DEFLATED, MAX_WBITS + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
  std::string out(deflateBound(&stream, content.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(content.data()));
  stream.avail_in = static_cast<uInt>(content.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

/// Lines of many lengths, some longer than a block.
std::vector<std::string> some_lines(std::size_t bytes) {
  std::vector<std::string> lines;
  std::uint64_t random = 1;
  for (std::size_t written = 0; written < bytes;) {
    random = mixed(random + 1);
    const std::size_t size = random % 97 == 0 ? 3'000'000 : 1 + random % 40'000;
    std::string line = std::to_string(lines.size()) + " ";
    line.resize(line.size() + size, static_cast<char>('a' + random % 26));
    written += line.size() + 1;
    lines.push_back(std::move(line));
  }
  return lines;
}

std::string joined(const std::vector<std::string>& lines, bool last_feed = true) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  if (!last_feed) text.pop_back();
  return text;
}

class CorpusTest : public testing::Test {
 protected:
  std::string put(const std::string& name, const std::string& bytes) { return folder_.put(name, bytes); }
  /// All documents, block by block, and the errors in their places.
  std::vector<std::string> read(const Corpus& corpus) {
    std::vector<std::string> documents;
    for (const Block& block : corpus.blocks()) {
      const auto reader = read_documents({corpus, *Storage::files(), MemoryLedger::unlimited()}, block);
      DocumentChunk some;
      while (*reader->next(some)) {
        for (const auto& one : some.each) {
          documents.emplace_back(one.error < 0 ? std::string(some.at(one))
                                               : some.errors[static_cast<std::size_t>(one.error)].to_string());
        }
      }
    }
    return documents;
  }
  std::vector<std::string> read(const std::string& path, CorpusOptions options = {}) {
    auto corpus = Corpus::open({path}, std::move(options));
    EXPECT_TRUE(corpus.ok()) << corpus.error().to_string();
    return read(**corpus);
  }

  Folder folder_;
};

TEST_F(CorpusTest, LinesOfPlainFilesComeOnceWhereverBlocksAreCut) {
  const auto lines = some_lines(20'000'000);
  EXPECT_EQ(read(put("plain.txt", joined(lines))), lines);
  EXPECT_EQ(read(put("open.txt", joined(lines, false))), lines);
}

TEST_F(CorpusTest, LinesThatBeginWhereABlockDoesComeOnce) {
  std::string line(1023, 'x');
  const std::vector<std::string> lines(5 * 1024, line);
  EXPECT_EQ(read(put("aligned.txt", joined(lines))), lines);
}

TEST_F(CorpusTest, LinesGoOnFromFrameToFrame) {
  const auto lines = some_lines(12'000'000);
  const std::string text = joined(lines);
  std::string frames;
  std::string one = "\x50\x2A\x4D\x18";  // a skippable frame of four bytes
  one += std::string("\x04\0\0\0abcd", 8);
  frames += one;
  for (std::size_t at = 0; at < text.size(); at += 777'777) {
    frames += zstd_frame(std::string_view(text).substr(at, 777'777), at % 2 == 0) + one;
  }
  const std::string path = put("some.zst", frames);
  EXPECT_GT((*Corpus::open({path}, {}))->blocks().size(), 3u);
  EXPECT_EQ(read(path), lines);
  EXPECT_EQ(read(put("whole.zst", zstd_frame(text))), lines);
}

TEST_F(CorpusTest, GzipFilesOfSeveralPartsAreOneBlock) {
  const auto lines = some_lines(5'000'000);
  const std::string text = joined(lines);
  const std::string parts = gzip(text.substr(0, 1'234'567)) + gzip(text.substr(1'234'567)) + std::string(512, '\0');
  EXPECT_EQ(read(put("some.gz", parts)), lines);
}

TEST_F(CorpusTest, FieldsOfJsonObjectsAreUnescaped) {
  const std::string text =
      "{\"id\": 1, \"text\": \"a\\nb \\u00e9\"}\r\n\n  \n{\"text\": \"\"}\n"
      "{\"text\": \"broken\", \n{\"id\": 3}\n{\"text\": 4}\n[1]\n{\"text\": \"end\"}";
  const auto documents = read(put("some.jsonl", text), {.format = DocumentFormat::kJsonLines});
  const std::string broken = std::to_string(text.find("{\"text\": \"broken"));
  ASSERT_EQ(documents.size(), 6u);
  EXPECT_EQ(documents[0], "a\nb é");
  EXPECT_NE(documents[1].find("at byte " + broken + ": the line is no JSON"), std::string::npos) << documents[1];
  EXPECT_NE(documents[2].find("no field \"text\""), std::string::npos) << documents[2];
  EXPECT_NE(documents[3].find("is no string"), std::string::npos) << documents[3];
  EXPECT_NE(documents[4].find("no JSON object"), std::string::npos) << documents[4];
  EXPECT_EQ(documents[5], "end");
}

TEST_F(CorpusTest, FilesAreDocuments) {
  EXPECT_EQ(read(put("one.txt", "a\nb\r\n"), {.format = DocumentFormat::kFiles}), std::vector<std::string>{"a\nb\r\n"});
}

TEST_F(CorpusTest, WhatIsNoUtf8IsAnErrorOfItsLineAlone) {
  const auto documents = read(put("bad.txt",
                                  "good\nb\xFF"
                                  "d\nfine\n"));
  ASSERT_EQ(documents.size(), 3u);
  EXPECT_NE(documents[1].find("at byte 5: the document is not valid UTF-8"), std::string::npos) << documents[1];
  EXPECT_EQ(documents[2], "fine");
}

TEST_F(CorpusTest, LinesThatAreTooLongAreErrorsAndTheNextOnesCome) {
  std::string text = "first\n" + std::string(5'000'000, 'x') + "\nlast\n";
  const auto documents = read(put("long.txt", text), {.max_document = 1'000'000});
  ASSERT_EQ(documents.size(), 3u);
  EXPECT_EQ(documents[0], "first");
  EXPECT_NE(documents[1].find("more than 1000000 bytes"), std::string::npos) << documents[1];
  EXPECT_EQ(documents[2], "last");
}

TEST_F(CorpusTest, DamageIsAnErrorAtItsPlaceAndOtherBlocksAreRead) {
  std::vector<std::string> lines;
  for (std::uint64_t i = 0; i < 300'000; ++i) lines.push_back(std::to_string(mixed(i)));
  const std::string text = joined(lines);
  std::string frames;
  std::vector<std::size_t> begins;
  for (std::size_t at = 0; at < text.size(); at += 1'500'000) {
    begins.push_back(frames.size());
    frames += zstd_frame(std::string_view(text).substr(at, 1'500'000));
  }
  std::string damaged = frames;
  for (std::size_t i = 0; i < 40; ++i) damaged[begins[1] + 2000 + i] ^= 0x55;
  const auto documents = read(put("damaged.zst", damaged));
  const auto errors = std::count_if(documents.begin(), documents.end(), [](const std::string& each) {
    return each.find("damaged.zst at byte ") != std::string::npos && each.find("zstd: ") != std::string::npos;
  });
  EXPECT_GE(errors, 1);
  EXPECT_LE(errors, 2);  // the line that goes on into the damaged frame is another one
  EXPECT_EQ(documents.back(), lines.back());
}

TEST_F(CorpusTest, LinesBeforeTheDamageAreRead) {
  const auto lines = some_lines(1'500'000);
  const std::string whole = gzip(joined(lines));
  auto documents = read(put("short.gz", whole.substr(0, whole.size() * 3 / 4)));
  ASSERT_GT(documents.size(), lines.size() / 2);
  EXPECT_NE(documents.back().find("ends too early"), std::string::npos) << documents.back();
  documents.pop_back();
  EXPECT_TRUE(std::ranges::equal(documents, std::span(lines).first(documents.size())));
}

TEST_F(CorpusTest, TruncatedAndForeignFilesAreRefusedWithTheirPlace) {
  const std::string frame = zstd_frame(joined(some_lines(500'000)));
  const auto refusal = [&](const std::string& bytes) {
    auto opened = Corpus::open({put("bad.zst", bytes)}, {});
    return opened.ok() ? std::string() : opened.error().to_string();
  };
  EXPECT_NE(refusal(frame.substr(0, frame.size() - 5)).find("ends within a frame"), std::string::npos);
  EXPECT_NE(refusal(frame + "some more").find("at byte " + std::to_string(frame.size())), std::string::npos);
  EXPECT_EQ(Corpus::open({put("empty.txt", "")}, {}).error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(Corpus::open({folder_.path("none")}, {}).error().code, ErrorCode::kNotFound);
}

TEST_F(CorpusTest, FilesThatChangeAreErrors) {
  const std::string path = put("changing.txt", joined(some_lines(3'000'000)));
  auto corpus = Corpus::open({path}, {});
  ASSERT_TRUE(corpus.ok());
  put("changing.txt", "short\n");
  for (const std::string& each : read(**corpus)) EXPECT_NE(each.find("changing.txt"), std::string::npos) << each;
}

}  // namespace
}  // namespace drapps::text
