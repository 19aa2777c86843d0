#include "drapps/kernel/widen.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "drapps/base/philox.h"

namespace drapps::kernel {
namespace {

TEST(Widen, EveryLevelGivesTheNumbersAndTheLargest) {
  Draws draws({.seed = 5, .epoch = 0, .position = 0}, 0);
  for (const std::size_t width : {1u, 2u, 4u, 8u}) {
    for (const std::size_t n : {0u, 1u, 7u, 32u, 33u, 1000u}) {
      for (const std::size_t shift : {0u, 1u}) {
        std::vector<std::uint8_t> in(shift + n * width);
        for (std::uint8_t& byte : in) byte = static_cast<std::uint8_t>(draws.u32());
        std::vector<std::int64_t> expected(n);
        std::uint64_t largest = 0;
        for (std::size_t i = 0; i < n; ++i) {
          std::uint64_t value = 0;
          std::memcpy(&value, in.data() + shift + i * width, width);
          expected[i] = static_cast<std::int64_t>(value);
          largest = std::max(largest, value);
        }
        for (const Level level : supported_levels()) {
          std::vector<std::int64_t> out(n, -1);
          EXPECT_EQ(widen(out.data(), in.data() + shift, width, n, level), largest) << name_of(level);
          EXPECT_EQ(out, expected) << name_of(level) << ", " << width << " bytes, " << n;
        }
      }
    }
  }
}

}  // namespace
}  // namespace drapps::kernel
