// Rows that the kernel picks, byte for byte.
#include "drapps/device/kernel/gather.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "drapps/augment/picture/testing.h"
#include "drapps/device/kernel/body.h"

namespace drapps::device {
namespace {

TEST(GatherKernel, PicksRowsInEveryUnit) {
  for (const std::int64_t row_bytes : {1, 2, 4, 6, 8, 12, 3072, 5000}) {
    for (const std::int32_t unit : {1, 2, 4, 8}) {
      if (row_bytes % unit != 0) continue;
      const std::int64_t stride = row_bytes + 2 * unit;
      std::vector<std::uint64_t> memory(static_cast<std::size_t>(stride * 20 / 8 + 1));
      auto* in = reinterpret_cast<std::uint8_t*>(memory.data());
      for (std::int64_t i = 0; i < stride * 20; ++i) in[i] = testing::noise(1, 0, 0, static_cast<std::int32_t>(i));
      const std::vector<std::int64_t> rows{19, 0, 7, 7, 3};
      std::vector<std::uint64_t> out(static_cast<std::size_t>(row_bytes) * rows.size() / 8 + 1);
      const GatherArguments arguments{.in = in,
                                      .stride = stride,
                                      .rows = rows.data(),
                                      .count = static_cast<std::int64_t>(rows.size()),
                                      .out = reinterpret_cast<std::uint8_t*>(out.data()),
                                      .row_bytes = row_bytes,
                                      .unit = unit};
      Gather::Shared shared{};
      for (std::int64_t block = 0; block < Gather::blocks(arguments); ++block) {
        run_block<Gather>(arguments, shared, static_cast<std::int32_t>(block), 100);
      }
      for (std::size_t i = 0; i < rows.size(); ++i) {
        const std::uint8_t* row = arguments.out + static_cast<std::int64_t>(i) * row_bytes;
        EXPECT_TRUE(std::equal(row, row + row_bytes, in + rows[i] * stride)) << row_bytes << " by " << unit;
      }
    }
  }
}

}  // namespace
}  // namespace drapps::device
