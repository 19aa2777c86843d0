#include "drapps/source/identity.h"

#include <gtest/gtest.h>

#include <numeric>
#include <set>
#include <vector>

#include "drapps/source/array.h"
#include "drapps/source/encoded.h"
#include "drapps/source/shard_source.h"

namespace drapps {
namespace {

using Bytes = std::vector<std::uint8_t>;

PathList list_of(std::initializer_list<const char*> paths) {
  PathList list;
  for (const char* path : paths) EXPECT_TRUE(list.append(path).ok());
  return list;
}

std::unique_ptr<ShardSource> ranges(const FileIdentity& file, std::uint64_t offset) {
  return *ShardSource::make(list_of({"/data/a.tar"}), {file},
                            {.shard = {0, 0}, .offset = {offset, 600}, .length = {80, 90}});
}

/// What was kept under these names in an earlier version is found again.
TEST(RecordIdentity, IsAFormat) {
  const auto files = *FileSource::make(list_of({"/data/cat.jpg"}));
  EXPECT_EQ(to_string(files->identity(0, kFirstPart)), "159dded6befdff78135ef9dae2b508d9");
  EXPECT_EQ(to_string(ranges({.size = 1000, .mtime_ns = 7, .inode = 3}, 512)->identity(0, kFirstPart)),
            "6ba794578bc82d9ccfc279dc6799a3ca");
  const Bytes bytes{1, 2, 3};
  EXPECT_EQ(to_string((*MemorySource::make({bytes}, nullptr))->identity(0, kFirstPart)),
            "7d98da4558b982ea14b853e84bdd030a");
  const std::vector<std::int64_t> numbers{5, 6, 7, 8};
  const Array array{.name = "x",
                    .dtype = Dtype::kInt64,
                    .row_shape = {2},
                    .data = reinterpret_cast<const std::byte*>(numbers.data()),
                    .stride = 16,
                    .rows = 2};
  EXPECT_EQ(to_string((*ArraySource::make({array}, std::nullopt, nullptr, nullptr))->identity(1, kFirstPart)),
            "99de47731b2852613cc0a1eb81cf041c");
}

TEST(RecordIdentity, OfAFileIsItsPathWhereverItStands) {
  const auto one = *FileSource::make(list_of({"/a", "/b", "/ab"}), list_of({"/ma", "/mb", "/mab"}));
  const auto other = *FileSource::make(list_of({"/ab", "/a"}));
  EXPECT_EQ(one->identity(0, kFirstPart), other->identity(1, kFirstPart));
  EXPECT_EQ(one->identity(2, kFirstPart), other->identity(0, kFirstPart));
  EXPECT_EQ((std::set{one->identity(0, kFirstPart), one->identity(1, kFirstPart), one->identity(2, kFirstPart),
                      one->identity(0, RecordPart{1})}
                 .size()),
            4u);
  // A file of that name is not the bytes of that name.
  const Bytes name{'/', 'a'};
  EXPECT_NE((*MemorySource::make({name}, nullptr))->identity(0, kFirstPart), one->identity(0, kFirstPart));
}

TEST(RecordIdentity, OfARangeChangesWithTheShard) {
  const FileIdentity file{.size = 1000, .mtime_ns = 7, .inode = 3};
  const RecordIdentity here = ranges(file, 512)->identity(0, kFirstPart);
  EXPECT_EQ(
      here,
      ranges({.size = 1000, .mtime_ns = 7, .inode = 4}, 512)->identity(0, kFirstPart));  // a copy of the same shard
  EXPECT_NE(here, ranges({.size = 1001, .mtime_ns = 7, .inode = 3}, 512)->identity(0, kFirstPart));
  EXPECT_NE(here, ranges({.size = 1000, .mtime_ns = 8, .inode = 3}, 512)->identity(0, kFirstPart));
  EXPECT_NE(here, ranges(file, 500)->identity(0, kFirstPart));
  EXPECT_NE(here, ranges(file, 512)->identity(1, kFirstPart));
}

TEST(RecordIdentity, OfMemoryIsItsContent) {
  const Bytes one{1, 2, 3};
  const Bytes same{1, 2, 3};
  const Bytes longer{1, 2, 3, 0};
  const auto source = *MemorySource::make({one, same, longer}, nullptr);
  EXPECT_EQ(source->identity(0, kFirstPart), source->identity(1, kFirstPart));
  EXPECT_NE(source->identity(0, kFirstPart), source->identity(2, kFirstPart));
}

TEST(RecordIdentity, OfRowsIsTheirContentInAnyStridesAndSubsets) {
  std::vector<std::int32_t> numbers(60);
  std::iota(numbers.begin(), numbers.end(), 0);
  const auto array = [&](const std::vector<std::int32_t>& from, std::int64_t width, std::ptrdiff_t stride) {
    return Array{.name = "x",
                 .dtype = Dtype::kInt32,
                 .row_shape = {width},
                 .data = reinterpret_cast<const std::byte*>(from.data()),
                 .stride = stride,
                 .rows = 5};
  };
  const auto plain = *ArraySource::make({array(numbers, 4, 16)}, std::nullopt, nullptr, nullptr);
  std::vector<std::int32_t> spread(60);
  for (std::size_t i = 0; i < 20; ++i) spread[i / 4 * 6 + i % 4] = numbers[i];
  const auto rows = std::make_shared<const std::vector<std::uint64_t>>(std::vector<std::uint64_t>{3, 1});
  const auto subset = *ArraySource::make({array(spread, 4, 24)}, std::nullopt, rows, nullptr);
  EXPECT_EQ(subset->identity(0, kFirstPart), plain->identity(3, kFirstPart));
  EXPECT_EQ(subset->identity(1, kFirstPart), plain->identity(1, kFirstPart));
  Array other = array(numbers, 4, 16);
  other.row_shape = {2, 2};
  EXPECT_NE((*ArraySource::make({other}, std::nullopt, nullptr, nullptr))->identity(1, kFirstPart),
            plain->identity(1, kFirstPart));
  other = array(numbers, 4, 16);
  other.dtype = Dtype::kUint32;
  EXPECT_NE((*ArraySource::make({other}, std::nullopt, nullptr, nullptr))->identity(1, kFirstPart),
            plain->identity(1, kFirstPart));

  // Pixels of 300 columns, interleaved and in planes.
  constexpr std::int32_t kWidth = 300;
  Bytes planes(std::size_t{2} * 3 * kWidth);
  for (std::size_t i = 0; i < planes.size(); ++i) planes[i] = static_cast<std::uint8_t>(i * 7 >> 2);
  Bytes pixels(planes.size());
  for (std::size_t c = 0; c < 3; ++c) {
    for (std::size_t x = 0; x < 2 * kWidth; ++x) pixels[x * 3 + c] = planes[c * 2 * kWidth + x];
  }
  const auto of = [](const Bytes& data, const PixelLayout& layout) {
    const PictureArray pictures{.name = "p", .layout = layout, .data = data.data(), .stride = 0, .rows = 1};
    return (*ArraySource::make({}, pictures, nullptr, nullptr))->identity(0, kFirstPart);
  };
  const RecordIdentity picture = of(planes, {3, {2, kWidth}, 2 * kWidth, kWidth, 1});
  EXPECT_EQ(of(pixels, {3, {2, kWidth}, 1, 3 * kWidth, 3}), picture);
  EXPECT_NE(of(planes, {3, {kWidth, 2}, 2 * kWidth, 2, 1}), picture);
}

TEST(Hints, SizesThatAreKnownWithoutReadingAreThereFromTheStart) {
  EXPECT_EQ(ranges({.size = 1000, .mtime_ns = 7, .inode = 3}, 512)->hint(1).bytes, 90u);
  const Bytes bytes{1, 2, 3};
  EXPECT_EQ((*MemorySource::make({bytes}, nullptr))->hint(0).bytes, 3u);
  const PictureArray pictures{
      .name = "p", .layout = {3, {4, 5}, 1, 15, 3}, .data = bytes.data(), .stride = 60, .rows = 2};
  const Array labels{.name = "x", .dtype = Dtype::kInt64, .data = nullptr, .stride = 8, .rows = 2};
  const Hint hint = (*ArraySource::make({labels}, pictures, nullptr, nullptr))->hint(1);
  EXPECT_EQ(hint.bytes, 68u);
  EXPECT_EQ(hint.work, 20u);
  EXPECT_EQ((*FileSource::make(list_of({"/a"})))->hint(0).bytes, 0u);
}

}  // namespace
}  // namespace drapps
