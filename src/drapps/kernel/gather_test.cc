#include "drapps/kernel/gather.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

namespace drapps::kernel {
namespace {

TEST(GatherRows, GivesTheRowsNamedInTheirOrderForAnySizeAndStride) {
  std::vector<std::byte> memory(64 * 1024);
  for (std::size_t i = 0; i < memory.size(); ++i) memory[i] = static_cast<std::byte>(i * 2654435761u >> 13);
  const std::vector<std::uint64_t> rows{5, 0, 19, 19, 3, 7, 1, 18, 2, 11, 5};
  for (const std::size_t bytes : {1u, 2u, 3u, 4u, 7u, 8u, 64u, 65u, 784u, 3000u}) {
    for (const std::ptrdiff_t stride : {static_cast<std::ptrdiff_t>(bytes), std::ptrdiff_t{3001}, std::ptrdiff_t{0},
                                        -static_cast<std::ptrdiff_t>(bytes)}) {
      const std::byte* first = stride < 0 ? memory.data() + memory.size() - bytes : memory.data();
      if (stride == 3001 && bytes > 3000) continue;
      std::vector<std::byte> out(rows.size() * bytes + 1, std::byte{0xAB});
      gather_rows(out.data(), first, stride, bytes, rows);
      for (std::size_t i = 0; i < rows.size(); ++i) {
        ASSERT_EQ(std::memcmp(out.data() + i * bytes, first + static_cast<std::ptrdiff_t>(rows[i]) * stride, bytes), 0)
            << bytes << " bytes, stride " << stride << ", row " << i;
      }
      EXPECT_EQ(out.back(), std::byte{0xAB});
    }
  }
  gather_rows(nullptr, nullptr, 8, 8, {});
}

}  // namespace
}  // namespace drapps::kernel
