#include "drapps/kernel/jpeg/expand.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <random>
#include <vector>

#include "drapps/kernel/jpeg/idct.h"

namespace drapps::kernel::jpeg {
namespace {

using Bytes = std::vector<std::uint8_t>;

struct alignas(64) ValueBlock {
  std::array<std::int16_t, kBlock> at{};
  bool operator==(const ValueBlock&) const = default;
};

/// Empty, sparse and dense blocks of small, middling and any numbers.
std::vector<ValueBlock> random_blocks(std::size_t count, std::mt19937& random) {
  std::vector<ValueBlock> blocks(count);
  for (ValueBlock& block : blocks) {
    const unsigned share = std::array{0u, 5u, 30u, 100u}[random() % 4];
    const int limit = std::array{1, 127, 128, 129, 1023, 32767}[random() % 6];
    for (std::int16_t& number : block.at) {
      if (random() % 100 >= share) continue;
      number = static_cast<std::int16_t>(static_cast<int>(random() % (2 * static_cast<unsigned>(limit) + 1)) - limit);
      if (random() % 50 == 0) number = static_cast<std::int16_t>(random() % 2 == 0 ? -limit - 1 : -128);
    }
    block.at[0] = static_cast<std::int16_t>(random());
  }
  return blocks;
}

struct Packed {
  Bytes masks, dc, values;
  bool operator==(const Packed&) const = default;
};

Packed packed(const std::vector<ValueBlock>& blocks, Level level) {
  const std::size_t n = blocks.size();
  Packed form{Bytes(kMaskBytes * n), Bytes(kDcBytes * n), Bytes(kMaxValueBytes * n + 64)};
  const std::uint8_t* end = pack(form.masks.data(), form.dc.data(), form.values.data(), blocks[0].at.data(), n, level);
  form.values.resize(static_cast<std::size_t>(end - form.values.data()));
  return form;
}

TEST(Expand, GivesBackWhatPackTookAtEveryLevel) {
  std::mt19937 random(3);
  for (int turn = 0; turn < 300; ++turn) {
    const std::vector<ValueBlock> blocks = random_blocks(1 + random() % 40, random);
    const Packed form = packed(blocks, Level::kPortable);
    // Exactly what may be read, so that a sanitizer sees one byte more.
    Bytes values = form.values, dc = form.dc;
    values.resize(values.size() + 64, 0xA5);
    dc.resize(dc.size() + 64, 0xA5);
    for (const Level level : supported_levels()) {
      EXPECT_EQ(packed(blocks, level), form) << name_of(level);
      EXPECT_EQ(value_bytes(form.masks.data(), blocks.size(), level), form.values.size()) << name_of(level);
      std::vector<ValueBlock> back(blocks.size() + 1, ValueBlock{{7, 7, 7}});
      const std::uint8_t* end =
          expand(back[0].at.data(), form.masks.data(), dc.data(), values.data(), blocks.size(), level);
      EXPECT_EQ(static_cast<std::size_t>(end - values.data()), form.values.size()) << name_of(level);
      EXPECT_EQ(back.back(), (ValueBlock{{7, 7, 7}})) << name_of(level);
      back.pop_back();
      ASSERT_EQ(back, blocks) << name_of(level);
    }
  }
}

TEST(Expand, SmallNumbersTakeAByteAndOthersTwo) {
  std::vector<ValueBlock> blocks(3);
  blocks[0].at[5] = -128;
  blocks[0].at[63] = 127;
  blocks[1].at[1] = 128;
  blocks[2].at[0] = -3000;
  for (const Level level : supported_levels()) {
    const Packed form = packed(blocks, level);
    EXPECT_EQ(form.values, (Bytes{0x80, 0x7F, 0x80, 0x00}));
    EXPECT_EQ(form.masks, (Bytes{0x20, 0, 0, 0, 0, 0, 0, 0x80, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}));
    EXPECT_EQ(form.dc, (Bytes{0, 0, 0, 0, 0x48, 0xF4}));
  }
}

TEST(LaneSum, IsTheSameAtEveryLevel) {
  std::mt19937 random(5);
  for (std::size_t lanes = 0; lanes < 40; ++lanes) {
    Bytes bytes(kLane * lanes + 1);
    std::generate(bytes.begin(), bytes.end(), [&] { return static_cast<std::uint8_t>(random()); });
    const std::uint64_t sum = lane_sum(bytes.data() + 1, lanes, Level::kPortable);
    for (const Level level : supported_levels()) EXPECT_EQ(lane_sum(bytes.data() + 1, lanes, level), sum);
  }
  // A fixed point of the format: a change here makes every file that exists unreadable.
  Bytes counted(4 * kLane);
  for (std::size_t i = 0; i < counted.size(); ++i) counted[i] = static_cast<std::uint8_t>(i);
  EXPECT_EQ(lane_sum(counted.data(), 4, Level::kPortable), 0x1EFD21687BF8B4C0u);
}

TEST(LaneSum, SeesEveryFlippedBitAndLanesInAnotherOrder) {
  std::mt19937 random(5);
  Bytes bytes(9 * kLane);
  std::generate(bytes.begin(), bytes.end(), [&] { return static_cast<std::uint8_t>(random()); });
  const std::uint64_t sum = lane_sum(bytes.data(), 9);
  for (std::size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
    bytes[bit / 8] ^= static_cast<std::uint8_t>(1 << bit % 8);
    EXPECT_NE(lane_sum(bytes.data(), 9), sum) << bit;
    bytes[bit / 8] ^= static_cast<std::uint8_t>(1 << bit % 8);
  }
  std::rotate(bytes.begin(), bytes.begin() + kLane, bytes.end());
  EXPECT_NE(lane_sum(bytes.data(), 9), sum);
}

TEST(LaneSum, IsFarFromItselfForChangesOfTwoWords) {
  // Differences of two words that are a power of two each, at any distance: what a weak sum loses first.
  constexpr std::size_t kLanes = 65;
  Bytes bytes(kLanes * kLane);
  const std::uint64_t zero = lane_sum(bytes.data(), kLanes);
  const auto put = [&](std::size_t word, std::uint32_t value) { std::memcpy(&bytes[4 * word], &value, 4); };
  for (const std::size_t first : {0u, 1u, 17u, 500u}) {
    for (std::size_t second = first + 1; second < kLanes * 16; ++second) {
      for (unsigned bit = 0; bit < 32; bit += 31) {
        put(first, 1u << bit);
        put(second, 1u << bit);
        ASSERT_NE(lane_sum(bytes.data(), kLanes), zero);
        put(first, 0);
        put(second, 0);
      }
    }
  }
}

}  // namespace
}  // namespace drapps::kernel::jpeg
