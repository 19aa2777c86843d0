// For the tests of residency: files whose pages are in the page cache, or not.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstddef>
#include <string>
#include <vector>

#include "drapps/base/unique_handle.h"
#include "drapps/meter/residency_look.h"
#include "drapps/meter/system_tree_test.h"

namespace drapps {

inline constexpr std::size_t kMebibyte = 1 << 20;

class ResidencyTest : public testing::Test {
 protected:
  void SetUp() override {
    const std::string probe = put("probe", kMebibyte);
    drop(probe);
    if (look_at_residency(probe, 0).resident != 0) GTEST_SKIP() << "no pages are dropped below " << tree.root();
  }

  /// A file, whose pages are in memory.
  std::string put(const std::string& name, std::size_t bytes) const {
    tree.put("/" + name, std::string(bytes, 'x'));
    return tree.root() + "/" + name;
  }
  static void drop(const std::string& path, std::size_t from = 0, std::size_t bytes = 0) {
    const UniqueHandle file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    ASSERT_EQ(::fsync(file.get()), 0);  // what is not on the disk yet cannot be dropped
    ASSERT_EQ(::posix_fadvise(file.get(), static_cast<off_t>(from), static_cast<off_t>(bytes), POSIX_FADV_DONTNEED), 0);
  }
  static void read_all(const std::string& path) {
    const UniqueHandle file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    std::vector<char> into(kMebibyte);
    while (::read(file.get(), into.data(), into.size()) > 0) {
    }
  }

  const SystemTree tree;
};

}  // namespace drapps
