#include "drapps/base/mappings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace drapps {
namespace {

using ::testing::HasSubstr;

class Mappings : public ::testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::create_directories(root_ + "/proc/sys/vm");
    std::filesystem::create_directories(root_ + "/proc/self");
    std::ofstream(root_ + "/proc/sys/vm/max_map_count") << "1000\n";
  }
  void TearDown() override { std::filesystem::remove_all(root_); }

  std::string advice_with(int mappings) const {
    std::ofstream file(root_ + "/proc/self/maps");
    for (int i = 0; i < mappings; ++i) file << "7f0000000000-7f0000001000 rw-s 00000000 00:01 " << i << " /memfd:x\n";
    file.close();
    return more_address_space(root_.c_str());
  }

 private:
  const std::string root_ = ::testing::TempDir() + "mappings";
};

TEST_F(Mappings, TheirNumberIsNamedWhereItIsReached) { EXPECT_THAT(advice_with(998), HasSubstr("vm.max_map_count")); }

TEST_F(Mappings, OtherwiseItIsAddressSpace) { EXPECT_THAT(advice_with(800), HasSubstr("ulimit -v")); }

TEST(MappingsOfNobody, AreNotCounted) { EXPECT_THAT(more_address_space("/nowhere"), HasSubstr("ulimit -v")); }

}  // namespace
}  // namespace drapps
