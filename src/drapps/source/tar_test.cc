#include "drapps/source/tar.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <string>
#include <vector>

namespace drapps {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string octal_text(std::size_t value, std::size_t digits) {
  std::string text(digits, '0');
  for (std::size_t i = digits; i-- > 0; value /= 8) text[i] = static_cast<char>('0' + value % 8);
  return text;
}

/// A header block. @param size  as it stands in the field, 12 bytes.
std::string header(const std::string& name, const std::string& size, char type = '0', const std::string& prefix = "") {
  std::string block(512, '\0');
  const auto put = [&](std::size_t at, const std::string& text) { block.replace(at, text.size(), text); };
  put(0, name);
  put(100, "0000644");
  put(124, size);
  put(136, "00000000000");
  block[156] = type;
  put(257, std::string("ustar\0", 6) + "00");
  put(345, prefix);
  put(148, "        ");
  const int sum = std::accumulate(block.begin(), block.end(), 0,
                                  [](int total, char c) { return total + static_cast<unsigned char>(c); });
  put(148, octal_text(static_cast<std::size_t>(sum), 6) + std::string("\0 ", 2));
  return block;
}

std::string octal(std::size_t size) { return octal_text(size, 11); }

std::string filled(std::string data) {
  data.resize((data.size() + 511) / 512 * 512, '\0');
  return data;
}

std::string member(const std::string& name, const std::string& data, char type = '0', const std::string& prefix = "") {
  return header(name, octal(data.size()), type, prefix) + filled(data);
}

std::string pax(const std::string& key, const std::string& value) {
  std::size_t length = key.size() + value.size() + 3;
  while (std::to_string(length).size() + key.size() + value.size() + 3 != length) ++length;
  return std::to_string(length) + " " + key + "=" + value + "\n";
}

const std::string kEnd(1024, '\0');

struct Listed {
  Status status = ok_status();
  std::vector<std::string> members;  // "name=content"
};

Listed listed(const std::string& archive) {
  FileWindow window({reinterpret_cast<const std::uint8_t*>(archive.data()), archive.size()});
  Listed result;
  result.status = list_tar(window, [&](const TarMember& entry) -> Status {
    result.members.push_back(std::string(entry.name) + "=" + archive.substr(entry.offset, entry.size));
    return ok_status();
  });
  return result;
}

TEST(ListTar, FindsRegularMembersInTheirOrder) {
  const auto listing = listed(member("b/1.jpg", "first") + member("b/", "", '5') + member("link", "", '2') +
                              member("a/2.cls", std::string(600, 'x')) + member("old", "v7", '\0') +
                              member("folder of old/", "", '\0') + member("empty", "") + kEnd + "what follows the end");
  ASSERT_TRUE(listing.status.ok());
  EXPECT_THAT(listing.members, ElementsAre("b/1.jpg=first", "a/2.cls=" + std::string(600, 'x'), "old=v7", "empty="));
}

TEST(ListTar, JoinsThePrefixOfUstarOnly) {
  std::string gnu = header("name", octal(1), '0', "no path");
  gnu.replace(257, 8, std::string("ustar  \0", 8));
  // The two blanks and their NUL in the place of a NUL and two zeros.
  const std::size_t more = std::size_t{' '} + ' ' - '0' - '0';  // modulo 2^64
  gnu.replace(148, 6, octal_text(std::stoul(gnu.substr(148, 6), nullptr, 8) + more, 6));
  const auto listing = listed(member("name", "1", '0', "a/long/path") + gnu + filled("2") + kEnd);
  ASSERT_TRUE(listing.status.ok()) << listing.status.error().to_string();
  EXPECT_THAT(listing.members, ElementsAre("a/long/path/name=1", "name=2"));
}

TEST(ListTar, TakesLongNamesOfGnuAndPax) {
  const std::string name(300, 'n');
  const auto listing =
      listed(member("././@LongLink", name + '\0', 'L') + member(name.substr(0, 100), "1") +
             member("pax", pax("mtime", "1.5") + pax("path", name + "/é.jpg"), 'x') + member("short", "2") +
             member("global", pax("comment", "x"), 'g') + member("next", "3") + kEnd);
  ASSERT_TRUE(listing.status.ok()) << listing.status.error().to_string();
  EXPECT_THAT(listing.members, ElementsAre(name + "=1", name + "/é.jpg=2", "next=3"));
}

TEST(ListTar, TakesSizesInPaxAndInBase256) {
  const std::string data(700, 'd');
  std::string base256(12, '\0');
  base256[0] = static_cast<char>(0x80);
  base256[10] = static_cast<char>(700 >> 8);
  base256[11] = static_cast<char>(700 & 0xFF);
  const auto listing = listed(member("pax", pax("size", "700"), 'x') + header("one", octal(0)) + filled(data) +
                              header("two", base256) + filled(data) + member("three", "3"));
  ASSERT_TRUE(listing.status.ok()) << listing.status.error().to_string();
  EXPECT_THAT(listing.members, ElementsAre("one=" + data, "two=" + data, "three=3"));
}

TEST(ListTar, ArchiveMayEndWithoutBlocksOfZeros) {
  EXPECT_THAT(listed(member("a", "1")).members, ElementsAre("a=1"));
  EXPECT_TRUE(listed("").status.ok());
  const std::string without_padding = member("a", "1").substr(0, 513);
  EXPECT_TRUE(listed(without_padding).status.ok());
}

TEST(ListTar, DamageIsATypedErrorWithItsPlace) {
  const std::string one = member("a.jpg", std::string(600, 'x'));
  const auto expect = [](const std::string& archive, ErrorCode code, std::int64_t offset, const char* text) {
    const Listed listing = listed(archive);
    ASSERT_FALSE(listing.status.ok()) << text;
    EXPECT_EQ(listing.status.error().code, code) << text;
    EXPECT_EQ(listing.status.error().offset, offset) << text;
    EXPECT_THAT(listing.status.error().message, HasSubstr(text));
  };
  expect(one.substr(0, 1000), ErrorCode::kTruncated, 0, "inside a member");
  expect(one + one.substr(0, 100), ErrorCode::kTruncated, 1536, "inside a header");
  std::string flipped = one + one;
  flipped[1536 + 3] ^= 1;
  expect(flipped, ErrorCode::kCorrupt, 1536, "checksum");
  expect(member("a", "1") + header("b", "9z"), ErrorCode::kCorrupt, 1024, "no number");
  std::string huge(12, '\xff');
  expect(header("a", huge), ErrorCode::kCorrupt, 0, "no number");
  huge = std::string("\x80\0\0\0\x40\0\0\0\0\0\0\0", 12);
  expect(header("a", huge), ErrorCode::kTruncated, 0, "inside a member");
  expect(member("", "1"), ErrorCode::kCorrupt, 0, "no name");
  expect(member("x", "7 path=\n", 'x'), ErrorCode::kCorrupt, 0, "pax");
  expect(member("x", "path=a\n", 'x'), ErrorCode::kCorrupt, 0, "pax");
  expect(member("x", pax("size", "-1"), 'x'), ErrorCode::kCorrupt, 0, "pax");
  expect(member("x", std::string(70'000, 'n'), 'L'), ErrorCode::kCorrupt, 0, "too long");
}

TEST(ListTar, SaysWhatItDoesNotRead) {
  const auto message = [](const std::string& archive) {
    const Listed listing = listed(archive);
    EXPECT_FALSE(listing.status.ok());
    EXPECT_EQ(listing.status.error().code, ErrorCode::kUnsupported);
    return listing.status.error().message;
  };
  EXPECT_THAT(message("\x1f\x8b" + std::string(600, 'z')), HasSubstr("gzip"));
  EXPECT_THAT(message("\x28\xb5\x2f\xfd and more"), HasSubstr("zstd"));
  EXPECT_THAT(message(std::string(600, 'p')), HasSubstr("no tar file"));
  EXPECT_THAT(message(member("a", "1", 'S')), HasSubstr("sparse"));
  EXPECT_THAT(message(member("x", pax("GNU.sparse.major", "1"), 'x')), HasSubstr("sparse"));
  EXPECT_THAT(message(member("a", "1", 'M')), HasSubstr("volumes"));
}

TEST(ListTar, ColumnsCarryTheContentsAskedFor) {
  const std::string archive = member("f.older/0.jpg", "picture") + member("f.older/0.cls", "7") +
                              member("0.seg.cls", "no") + member("1.CLS", "8");
  FileWindow window({reinterpret_cast<const std::uint8_t*>(archive.data()), archive.size()});
  const auto listing = list_tar(window, std::vector<std::string>{"json", "cls"});
  ASSERT_TRUE(listing.ok());
  EXPECT_EQ(listing->names, std::string("f.older/0.jpg\0f.older/0.cls\0"
                                        "0.seg.cls\0"
                                        "1.CLS\0",
                                        44));
  EXPECT_THAT(listing->offset, ElementsAre(512, 1536, 2560, 3584));
  EXPECT_THAT(listing->size, ElementsAre(7, 1, 2, 1));
  EXPECT_THAT(listing->kept, ElementsAre(1, 3));
  EXPECT_THAT(listing->contents, ElementsAre("7", "8"));
}

}  // namespace
}  // namespace drapps
