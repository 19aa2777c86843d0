#include "drapps/meter/system_file.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <iterator>

#include "drapps/meter/system_tree_test.h"

namespace drapps {
namespace {

constexpr std::uint64_t kMinute = 60'000'000'000;

TEST(SystemFile, IsReadAnewAtEachLook) {
  const SystemTree tree;
  tree.put("/proc/some", "first");
  SystemFile file(tree.root() + "/proc/some");
  EXPECT_EQ(file.read(1), "first");
  tree.put("/proc/some", "other and longer");
  EXPECT_EQ(file.read(2), "other and longer");
  const std::string much(100'000, 'x');
  tree.put("/proc/some", much);
  EXPECT_EQ(file.read(3), much);
  tree.put("/proc/some", "");
  EXPECT_EQ(file.read(4), "");
}

TEST(SystemFile, ThatIsMissingIsLookedForOnceAMinute) {
  const SystemTree tree;
  SystemFile file(tree.root() + "/proc/some");
  EXPECT_FALSE(file.read(1).has_value());
  tree.put("/proc/some", "late");
  EXPECT_FALSE(file.read(2).has_value());
  EXPECT_FALSE(file.read(kMinute).has_value());
  EXPECT_EQ(file.read(kMinute + 1), "late");
}

TEST(SystemFile, ThatCannotBeReadIsMissing) {
  const SystemTree tree;
  tree.put("/proc/some/file", "");
  SystemFile folder(tree.root() + "/proc/some");  // opens, and gives nothing
  EXPECT_FALSE(folder.read(1).has_value());
  EXPECT_FALSE(folder.read(2).has_value());
}

TEST(SystemFile, HoldsNoDescriptorBetweenLooks) {
  const auto descriptors = [] {
    const std::filesystem::directory_iterator all("/proc/self/fd");
    return std::distance(begin(all), end(all));
  };
  const SystemTree tree;
  tree.put("/proc/some", "text");
  const auto before = descriptors();
  SystemFile file(tree.root() + "/proc/some");
  EXPECT_EQ(file.read(1), "text");
  EXPECT_EQ(descriptors(), before);
}

TEST(SystemFile, OfThisMachineIsRead) {
  SystemFile file("/proc/self/stat");
  const auto first = file.read(1);
  ASSERT_TRUE(first.has_value());
  EXPECT_TRUE(first->starts_with(std::to_string(getpid()) + " ("));
  EXPECT_TRUE(file.read(2).has_value());
}

}  // namespace
}  // namespace drapps
