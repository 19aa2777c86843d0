#include "drapps/batch/compact.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace drapps {
namespace {

TEST(CompactRows, KeepsTheGoodRowsInTheirOrder) {
  constexpr std::uint32_t kRows = 6;
  for (const std::size_t row_bytes : {std::size_t{1}, std::size_t{3}, std::size_t{64}}) {
    for (std::uint32_t subset = 0; subset < (1u << kRows); ++subset) {
      std::vector<std::byte> column;
      std::vector<std::byte> expected;
      std::vector<std::uint32_t> bad;
      for (std::uint32_t row = 0; row < kRows; ++row) {
        const std::vector<std::byte> bytes(row_bytes, static_cast<std::byte>(row + 1));
        column.insert(column.end(), bytes.begin(), bytes.end());
        if ((subset >> row & 1) != 0) {
          bad.push_back(row);
        } else {
          expected.insert(expected.end(), bytes.begin(), bytes.end());
        }
      }
      const std::uint32_t kept = compact_rows(column.data(), row_bytes, kRows, bad);
      ASSERT_EQ(kept, kRows - bad.size());
      EXPECT_TRUE(std::equal(expected.begin(), expected.end(), column.begin())) << subset;
    }
  }
}

}  // namespace
}  // namespace drapps
