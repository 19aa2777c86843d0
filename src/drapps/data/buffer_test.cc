#include "drapps/data/buffer.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>

namespace drapps {
namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20;

std::size_t resident_bytes() {
  std::FILE* file = std::fopen("/proc/self/statm", "r");
  unsigned long size = 0, resident = 0;
  EXPECT_EQ(std::fscanf(file, "%lu %lu", &size, &resident), 2);
  std::fclose(file);
  return resident * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

void fill(Buffer& buffer, std::size_t bytes) {
  ASSERT_TRUE(buffer.ensure(bytes).ok());
  std::memset(buffer.data(), 1, bytes);
}

TEST(Buffer, LargeMemoryGoesBackToTheSystemWhateverLiesBehindIt) {
  MemoryLedger ledger;
  Buffer first(ledger), second(ledger), behind(ledger);
  fill(first, 24 * kMiB);
  first.reset();
  fill(second, 20 * kMiB);
  fill(behind, 3 * kMiB);
  const std::size_t before = resident_bytes();
  second.reset();
  EXPECT_LE(resident_bytes(), before - 18 * kMiB);
}

TEST(Buffer, IsAlignedAndChargedForAllThatItMaps) {
  MemoryLedger ledger;
  for (const std::size_t bytes : {std::size_t{1}, kMiB - 4096, kMiB - 64, kMiB, 5 * kMiB + 1}) {
    Buffer buffer(ledger);
    fill(buffer, bytes);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(buffer.data()) % kAlignment, 0u);
    EXPECT_GE(buffer.capacity(), bytes);
    EXPECT_GE(ledger.used(), buffer.capacity() + kPadding);
    buffer.reset();
    EXPECT_EQ(ledger.used(), 0u);
  }
}

}  // namespace
}  // namespace drapps
