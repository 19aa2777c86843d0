#include "drapps/text/tokens/token_set.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "drapps/storage/testing.h"
#include "drapps/text/tokens/megatron_index.h"

namespace drapps::text {
namespace {

template <class T>
void put(std::string& out, T value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

/// An index of uint16.
std::string index_of(const std::vector<std::int32_t>& lengths, const std::vector<std::int64_t>& documents) {
  std::string out("MMIDIDX\0\0", 9);
  put(out, std::uint64_t{1});
  put(out, std::uint8_t{8});
  put(out, std::uint64_t{lengths.size()});
  put(out, std::uint64_t{documents.size()});
  for (const std::int32_t length : lengths) put(out, length);
  std::int64_t offset = 0;
  for (const std::int32_t length : lengths) {
    put(out, offset);
    offset += length * std::int64_t{2};
  }
  for (const std::int64_t document : documents) put(out, document);
  return out;
}

Result<MegatronIndex> read(const std::string& bytes) {
  FileWindow window(std::span(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()));
  return read_megatron_index(window, true);
}

TEST(MegatronIndex, ListsDocumentsThatHaveIds) {
  const auto index = read(index_of({3, 0, 5, 1, 0}, {0, 1, 2, 2, 3, 4, 5}));
  ASSERT_TRUE(index.ok());
  EXPECT_EQ(index->ids, 9u);
  EXPECT_EQ(index->dtype, Dtype::kUint16);
  EXPECT_EQ(index->documents, (std::vector<std::uint64_t>{0, 3, 8}));
}

TEST(MegatronIndex, DamageIsToldWithItsByte) {
  const std::string good = index_of({3, 5}, {0, 1, 2});
  for (std::size_t size = 0; size < good.size(); ++size) {
    const auto cut = read(good.substr(0, size));
    ASSERT_FALSE(cut.ok()) << size;
    EXPECT_EQ(cut.error().code, size < 9 ? ErrorCode::kUnsupported : ErrorCode::kTruncated) << size;
    EXPECT_GE(cut.error().offset, 0);
  }
  struct Case {
    std::size_t at;
    char value;
    ErrorCode code;
    std::int64_t offset;
  };
  for (const Case& each : {
           Case{0, 'X', ErrorCode::kUnsupported, 0},     // the magic
           Case{9, 2, ErrorCode::kUnsupported, 9},       // the version
           Case{17, 7, ErrorCode::kUnsupported, 17},     // float32
           Case{17, 99, ErrorCode::kUnsupported, 17},    // no dtype
           Case{25, '\x7F', ErrorCode::kTruncated, 82},  // 2^62 sequences
           Case{26, 2, ErrorCode::kCorrupt, 74},         // fewer documents than there are
           Case{37, '\x80', ErrorCode::kCorrupt, 34},    // a negative length
           Case{50, 8, ErrorCode::kCorrupt, 50},         // a gap between sequences
           Case{66, 9, ErrorCode::kCorrupt, 66},         // a document of no sequence
           Case{74, 1, ErrorCode::kCorrupt, 74},         // the last end is not that of the sequences
       }) {
    std::string damaged = good;
    damaged[each.at] = each.value;
    const auto index = read(damaged);
    ASSERT_FALSE(index.ok()) << each.at;
    EXPECT_EQ(index.error().code, each.code) << each.at << ": " << index.error().message;
    EXPECT_EQ(index.error().offset, each.offset) << each.at << ": " << index.error().message;
  }
}

TEST(TokenSet, PiecesEndWhereTheirFileDoes) {
  const Folder folder;
  const std::string first = folder.put("a.bin", std::string(6, 'a'));
  const std::string empty = folder.put("b.bin", "");
  const std::string second = folder.put("c.bin", std::string(8, 'c'));
  TokenSet::Builder builder({});
  for (const std::string& path : {first, empty, second}) {
    ASSERT_TRUE(builder.add_plain(path, Dtype::kUint16, 0).ok());
  }
  const auto tokens = std::move(builder).finish();
  ASSERT_TRUE(tokens.ok());
  const TokenSet& set = **tokens;
  EXPECT_EQ(set.size(), 7u);
  const TokenPiece piece = set.piece(1, 5);
  EXPECT_EQ(*piece.path, first);
  EXPECT_EQ(piece.at.offset, 2u);
  EXPECT_EQ(piece.ids, 2u);
  EXPECT_FALSE(piece.begins);
  const TokenPiece next = set.piece(3, 3);
  EXPECT_EQ(*next.path, second);
  EXPECT_EQ(next.ids, 3u);
  EXPECT_TRUE(next.begins);
}

TEST(TokenSet, FilesThatAreNotWhatTheyShouldBeAreNamed) {
  const Folder folder;
  const std::string odd = folder.put("odd.bin", "abc");
  const std::string index = folder.put("odd.idx", index_of({2}, {0, 1}));
  TokenSet::Builder builder({});
  const auto error = [](Status status) { return status.ok() ? Error{} : status.error(); };
  const Error rest = error(builder.add_plain(odd, Dtype::kUint16, 0));
  EXPECT_EQ(rest.code, ErrorCode::kTruncated);
  EXPECT_EQ(rest.path, odd);
  EXPECT_EQ(rest.offset, 2);
  EXPECT_EQ(error(builder.add_plain(odd, Dtype::kUint16, 4)).code, ErrorCode::kTruncated);
  EXPECT_EQ(error(builder.add_plain(folder.path("none"), Dtype::kUint16, 0)).code, ErrorCode::kNotFound);
  const Error shorter = error(builder.add_megatron(odd, index));
  EXPECT_EQ(shorter.code, ErrorCode::kTruncated);
  EXPECT_EQ(shorter.path, odd);
  EXPECT_EQ(shorter.offset, 3);
  EXPECT_EQ(error(builder.add_megatron(folder.put("long.bin", "abcde"), index)).code, ErrorCode::kCorrupt);
  const std::vector<TokenSet::Builder::Range> outside{{2, 1}};
  EXPECT_EQ(error(builder.add_ranges(odd, Dtype::kUint16, outside, {})).code, ErrorCode::kTruncated);
  TokenSet::Builder none({});
  EXPECT_EQ(std::move(none).finish().error().code, ErrorCode::kInvalidArgument);
}

}  // namespace
}  // namespace drapps::text
