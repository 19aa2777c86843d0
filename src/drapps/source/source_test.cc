#include "drapps/source/source.h"
#include "drapps/source/encoded.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits.h>

#include <string>
#include <utility>
#include <vector>

namespace drapps {
namespace {

using testing::HasSubstr;

PathList paths(const std::vector<std::string>& all) {
  PathList list;
  for (const std::string& path : all) EXPECT_TRUE(list.append(path).ok());
  return list;
}

TEST(PathListTest, KeepsEveryPathAcrossGroups) {
  constexpr std::uint64_t kPaths = 200'000;  // more than three groups of offsets
  PathList list;
  for (std::uint64_t i = 0; i < kPaths; ++i) {
    ASSERT_TRUE(list.append(std::string(i % 90, 'd') + "/" + std::to_string(i) + ".jpg").ok());
  }
  ASSERT_EQ(list.size(), kPaths);
  for (std::uint64_t i = 0; i < kPaths; i += 7) {
    ASSERT_EQ(list[i], std::string(i % 90, 'd') + "/" + std::to_string(i) + ".jpg");
  }
}

TEST(PathListTest, RefusesWhatNoFileIsCalled) {
  PathList list;
  EXPECT_THAT(list.append("").error().message, HasSubstr("empty"));
  EXPECT_THAT(list.append(std::string("a\0b", 3)).error().message, HasSubstr("NUL"));
  EXPECT_THAT(list.append(std::string(PATH_MAX, 'x')).error().message, HasSubstr("4095"));
  EXPECT_TRUE(list.append(std::string(PATH_MAX - 1, 'x')).ok());
  EXPECT_EQ(list.size(), 1u) << "a refused path takes no place";
}

TEST(FileSourceTest, NamesEachPartByItsPath) {
  const auto source = std::move(*FileSource::make(paths({"/a/0.jpg", "/a/1.jpg"}), paths({"/m/0.png", "/m/1.png"})));
  EXPECT_EQ(source->size(), 2u);
  EXPECT_TRUE(source->part_named(kMaskName).has_value());
  EXPECT_STREQ(source->locate(1, kFirstPart).path, "/a/1.jpg");
  EXPECT_STREQ(source->locate(1, RecordPart{1}).path, "/m/1.png");
  EXPECT_EQ(source->name(0, RecordPart{1}), "/m/0.png");
  EXPECT_FALSE((*FileSource::make(paths({"/x"})))->part_named(kMaskName).has_value());
}

TEST(FileSourceTest, RefusesCountsThatDiffer) {
  EXPECT_THAT(FileSource::make(paths({"a", "b"}), paths({"m"})).error().message, HasSubstr("1 entries for 2"));
  const auto refused = FileSource::make(paths({"a"}), {}, {.labels = {{"class", {1, 2}}}});
  EXPECT_THAT(refused.error().message, HasSubstr("'class' has 2 entries for 1"));
}

TEST(MemorySourceTest, LendsTheBytesItWasGivenAndKeepsTheirOwner) {
  auto owner = std::make_shared<std::vector<std::uint8_t>>(std::vector<std::uint8_t>{1, 2, 3, 4, 5});
  const std::weak_ptr<void> watch = owner;
  const std::uint8_t* const data = owner->data();
  auto source = std::move(*MemorySource::make({{data, 2}, {data + 2, 3}}, std::move(owner)));
  EXPECT_FALSE(watch.expired());
  EXPECT_EQ(source->locate(1, kFirstPart).path, nullptr);
  EXPECT_EQ(source->locate(1, kFirstPart).bytes.data(), data + 2);
  EXPECT_EQ(source->hint(1).bytes, 3u);
  EXPECT_EQ(source->name(1, kFirstPart), "memory[1]");
  EXPECT_EQ(source->name(1, RecordPart{1}), "memory[1].mask");
  source.reset();
  EXPECT_TRUE(watch.expired());
}

TEST(SourceTest, ItsStorageIsThatOfTheFirstRecordInAFile) {
  PathList paths;
  ASSERT_TRUE(paths.append("/proc/self/gone").ok());
  ASSERT_TRUE(paths.append("/elsewhere/b.jpg").ok());
  const StorageIdentity files = (*FileSource::make(std::move(paths)))->storage_identity();
  EXPECT_EQ(files.kind, "files");
  EXPECT_EQ(files.path, "/proc/self/gone");
  EXPECT_EQ(files.mount, "/proc");
  EXPECT_EQ(files.filesystem, "proc");

  const auto owner = std::make_shared<std::vector<std::uint8_t>>(std::vector<std::uint8_t>{1, 2});
  const MemorySource::Bytes bytes(owner->data(), 2);
  PathList some;
  ASSERT_TRUE(some.append("/proc/self/gone").ok());
  EXPECT_EQ((*MemorySource::make({bytes, {}}, owner, {}, {}, std::move(some)))->storage_identity().path,
            "/proc/self/gone");
  const StorageIdentity memory = (*MemorySource::make({bytes}, owner))->storage_identity();
  EXPECT_EQ(memory.kind, "memory");
  EXPECT_EQ(memory.path + memory.mount + memory.filesystem + memory.device, "");
  EXPECT_EQ((*FileSource::make({}))->storage_identity().kind, "memory") << "nothing is read";
}

TEST(SourceTest, TargetsAreAnsweredByIndex) {
  Targets targets;
  targets.labels = {{"class", {4, 5, 6}}, {"group", {-1, -2, -3}}};
  targets.box_offsets = {0, 2, 2, 3};
  targets.boxes = {{0, 0, 1, 1}, {2, 2, 3, 3}, {4, 4, 5, 5}};
  targets.box_labels = {10, 20, 30};
  const auto source = std::move(*FileSource::make(paths({"a", "b", "c"}), {}, targets));
  EXPECT_EQ(source->label(0, 2), 6);
  EXPECT_EQ(source->label(1, 0), -1);
  EXPECT_THAT(source->boxes(0).labels, testing::ElementsAre(10, 20));
  EXPECT_TRUE(source->boxes(1).boxes.empty());
  EXPECT_THAT(source->boxes(2).boxes, testing::ElementsAre(Box{4, 4, 5, 5}));
}

TEST(SourceTest, BoxesThatDoNotAddUpAreRefused) {
  const auto refused = [](Targets targets) {
    return FileSource::make(paths({"a", "b"}), {}, std::move(targets)).error().message;
  };
  EXPECT_THAT(refused({.labels = {}, .box_offsets = {0, 1}, .boxes = {Box{}}, .box_labels = {1}}),
              HasSubstr("box_offsets"));
  EXPECT_THAT(refused({.labels = {}, .box_offsets = {0, 2, 1}, .boxes = {Box{}}, .box_labels = {1}}),
              HasSubstr("rise"));
  EXPECT_THAT(refused({.labels = {}, .box_offsets = {0, 1, 2}, .boxes = {Box{}}, .box_labels = {1}}),
              HasSubstr("rise"));
  EXPECT_THAT(refused({.labels = {}, .box_offsets = {0, 1, 1}, .boxes = {Box{}}, .box_labels = {}}),
              HasSubstr("0 box labels"));
  EXPECT_THAT(refused({.labels = {}, .box_offsets = {}, .boxes = {Box{}}, .box_labels = {1}}),
              HasSubstr("no box_offsets"));
}

TEST(SourceTest, HintsAreWhatWasSeenAndSaturate) {
  const auto source = std::move(*FileSource::make(paths({"a", "b"})));
  EXPECT_EQ(source->hint(0).bytes, 0u);
  EXPECT_EQ(source->hint(0).work, 0u);
  source->remember_bytes(0, 1234);
  source->remember_work(0, std::uint64_t{1} << 33);
  EXPECT_EQ(source->hint(0).bytes, 1234u);
  EXPECT_EQ(source->hint(0).work, UINT32_MAX);
  EXPECT_EQ(source->hint(1).bytes, 0u);
}

}  // namespace
}  // namespace drapps
