#include "drapps/decode/jpeg/tables.h"

#include <gtest/gtest.h>

#include <vector>

namespace drapps::jpeg {
namespace {

using kernel::jpeg::CodeClass;
using kernel::jpeg::HuffmanTable;

/// One code of one bit.
std::vector<std::uint8_t> code(int symbol) {
  std::vector<std::uint8_t> bytes(17);
  bytes[0] = 1;
  bytes[16] = static_cast<std::uint8_t>(symbol);
  return bytes;
}

/// The number of bits of the value behind it.
std::uint32_t value_bits(const HuffmanTable& table) { return table.symbol[0] >> 24; }

TEST(TableCache, ATableHoldsUntilAsManyOthersAsThereArePlacesWereAskedFor) {
  TableCache cache(MemoryLedger::unlimited());
  for (std::size_t before = 0; before < 2 * TableCache::kPlaces; ++before) {
    // Wherever the next place to be given up is, a table that was found is not the next to go.
    const HuffmanTable* table = cache.get(CodeClass::kDc, code(11)).value();
    for (int other = 0; other < static_cast<int>(TableCache::kPlaces) - 1; ++other) {
      const CodeClass kind = before % 2 == 0 ? CodeClass::kDc : CodeClass::kAc;
      EXPECT_EQ(value_bits(*cache.get(kind, code(other)).value()), static_cast<std::uint32_t>(other));
      ASSERT_EQ(value_bits(*table), 11u) << before << ' ' << other;
    }
    EXPECT_EQ(cache.get(CodeClass::kDc, code(11)).value(), table);
    ASSERT_TRUE(cache.get(CodeClass::kAc, code(0x11 + 16 * static_cast<int>(before % 8))).ok());
  }
}

TEST(TableCache, TheSameBytesAreAnotherTableForAnotherKind) {
  TableCache cache(MemoryLedger::unlimited());
  const HuffmanTable* dc = cache.get(CodeClass::kDc, code(3)).value();
  const HuffmanTable* ac = cache.get(CodeClass::kAc, code(3)).value();
  EXPECT_NE(dc, ac);
  EXPECT_EQ(cache.get(CodeClass::kDc, code(3)).value(), dc);
  EXPECT_EQ(cache.get(CodeClass::kDc, code(12)).value(), nullptr);  // refused, and again
  EXPECT_EQ(cache.get(CodeClass::kDc, code(12)).value(), nullptr);
  EXPECT_NE(cache.get(CodeClass::kAc, code(0x12)).value(), nullptr);
}

TEST(TableCache, ResettingGivesTheMemoryBackAndForgets) {
  MemoryLedger ledger;
  TableCache cache(ledger);
  ASSERT_TRUE(cache.get(CodeClass::kDc, code(3)).ok());
  EXPECT_GT(ledger.used(), 0u);
  cache.reset();
  EXPECT_EQ(ledger.used(), 0u);
  EXPECT_EQ(value_bits(*cache.get(CodeClass::kDc, code(3)).value()), 3u);
}

TEST(TableCache, NoMemoryIsAnError) {
  MemoryLedger ledger(100);
  TableCache cache(ledger);
  EXPECT_EQ(cache.get(CodeClass::kDc, code(3)).error().code, ErrorCode::kResourceExhausted);
}

}  // namespace
}  // namespace drapps::jpeg
