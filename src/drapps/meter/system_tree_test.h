// For the tests of this folder: a made-up /proc and /sys.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>

namespace drapps {

inline constexpr std::uint64_t kSecondNs = 1'000'000'000;

class SystemTree {
 public:
  SystemTree() {
    const auto* const test = testing::UnitTest::GetInstance()->current_test_info();
    root_ = std::filesystem::path(testing::TempDir()) /
            (std::string(test->test_suite_name()) + test->name() + std::to_string(getpid()));
    std::filesystem::remove_all(root_);
    std::filesystem::create_directories(root_);
  }
  ~SystemTree() { std::filesystem::remove_all(root_); }
  SystemTree(const SystemTree&) = delete;
  SystemTree& operator=(const SystemTree&) = delete;

  /// What a meter's constructor takes.
  std::string root() const { return root_.string(); }
  /// @param path  from the root of the machine, as "/proc/stat".
  void put(const std::string& path, const std::string& text) const {
    const std::filesystem::path file = root_.string() + path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }
  void remove(const std::string& path) const { std::filesystem::remove_all(root_.string() + path); }

 private:
  std::filesystem::path root_;
};

}  // namespace drapps
