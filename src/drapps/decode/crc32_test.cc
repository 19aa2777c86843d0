#include "drapps/decode/crc32.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace drapps {
namespace {

TEST(Crc32, OfTheCatalogueIsAsPublished) {
  constexpr std::string_view kDigits = "123456789";
  const std::vector<std::uint8_t> bytes(kDigits.begin(), kDigits.end());
  EXPECT_EQ(crc32(bytes), 0xCBF43926u);
  EXPECT_EQ(crc32({}), 0u);
}

TEST(Crc32, IsThatOfItsDefinitionAtEveryLength) {
  std::vector<std::uint8_t> bytes;
  for (std::uint32_t i = 0; i < 64; ++i) {
    std::uint32_t sum = 0xFFFFFFFFu;
    for (const std::uint8_t byte : bytes) {
      sum ^= byte;
      for (int bit = 0; bit < 8; ++bit) sum = sum >> 1 ^ (sum & 1 ? 0xEDB88320u : 0u);
    }
    EXPECT_EQ(crc32(bytes), ~sum);
    bytes.push_back(static_cast<std::uint8_t>(i * 151 + 7));
  }
}

}  // namespace
}  // namespace drapps
