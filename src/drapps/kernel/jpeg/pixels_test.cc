#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <random>
#include <vector>

#include "drapps/kernel/jpeg/idct.h"
#include "drapps/kernel/jpeg/upsample.h"
#include "drapps/kernel/jpeg/ycc.h"

namespace drapps::kernel::jpeg {
namespace {

using Bytes = std::vector<std::uint8_t>;

Bytes random_bytes(std::size_t n, std::uint32_t seed) {
  std::mt19937 random(seed);
  Bytes bytes(n);
  for (std::uint8_t& byte : bytes) byte = static_cast<std::uint8_t>(random() % 3 == 0 ? random() % 2 * 255 : random());
  return bytes;
}

std::int16_t any_word(std::mt19937& random) {
  constexpr std::int16_t kEdges[]{-32768, -32767, -8193, -8192, -1, 0, 1, 8191, 8192, 16384, 32767};
  return random() % 2 == 0 ? kEdges[random() % std::size(kEdges)] : static_cast<std::int16_t>(random());
}

/// Coefficients of every kind that is treated differently somewhere: dense, sparse, flat, hostile.
void fill_block(std::int16_t* block, std::mt19937& random) {
  std::fill_n(block, kBlock, std::int16_t{0});
  const auto small = [&] { return static_cast<std::int16_t>(static_cast<int>(random() % 200) - 100); };
  switch (random() % 8) {
    case 0: break;
    case 1: block[0] = any_word(random); break;
    case 2: std::generate_n(block, 8, [&] { return any_word(random); }); break;
    case 3:
      for (std::size_t i = 0; i < kBlock; i += 8) block[i] = any_word(random);
      break;
    case 4: std::generate_n(block, kBlock, [&] { return any_word(random); }); break;
    case 5: std::generate_n(block, kBlock, small); break;
    case 6:
      for (int i = 0; i < 6; ++i) block[random() % kBlock] = small();
      break;
    default: std::generate_n(block, 8, [&] { return any_word(random); }); block[8 + random() % 56] = any_word(random);
  }
}

struct alignas(64) Block {
  std::int16_t at[kBlock];
};

TEST(InverseDct, EveryLevelIsTheReferenceForAnyCoefficientsAndWritesNothingElse) {
  std::mt19937 random(7);
  for (int turn = 0; turn < 600; ++turn) {
    const std::size_t count = 1 + random() % 70;
    std::vector<Block> blocks(count);
    for (Block& block : blocks) fill_block(block.at, random);
    Block quant;
    const bool hostile = turn % 2 == 0;
    for (std::int16_t& q : quant.at) {
      q = hostile ? any_word(random) : static_cast<std::int16_t>(1 + random() % (turn % 4 == 1 ? 255 : 4));
    }
    const std::size_t stride = 8 * count + random() % 9, offset = random() % 64;
    const auto pixels = [&](Level level) {
      Bytes out(offset + 8 * stride + 64, 0xA5);
      inverse_dct(out.data() + offset, static_cast<std::ptrdiff_t>(stride), blocks[0].at, count, quant.at, level);
      return out;
    };
    const Bytes expected = pixels(Level::kPortable);
    for (std::size_t i = 0; i < expected.size(); ++i) {
      const bool inside = i >= offset && i < offset + 8 * stride && (i - offset) % stride < 8 * count;
      if (!inside) {
        ASSERT_EQ(expected[i], 0xA5) << i;
      }
    }
    for (const Level level : supported_levels()) ASSERT_EQ(pixels(level), expected) << name_of(level) << " " << count;
  }
}

TEST(InverseDct, OfAConstantIsConstantAndClamped) {
  Block block{}, quant;
  std::fill_n(quant.at, kBlock, std::int16_t{8});
  for (const Level level : supported_levels()) {
    for (int mean = -200; mean <= 200; ++mean) {
      block.at[0] = static_cast<std::int16_t>(mean);
      Bytes out(64);
      inverse_dct(out.data(), 8, block.at, 1, quant.at, level);
      EXPECT_EQ(out, Bytes(64, static_cast<std::uint8_t>(std::clamp(mean + 128, 0, 255)))) << name_of(level);
    }
  }
}

TEST(InverseDct, AFlatBlockWrapsWhereAnyOtherSaturates) {
  Block quant;
  std::fill_n(quant.at, kBlock, std::int16_t{1});
  for (const Level level : supported_levels()) {
    Block block{};
    Bytes out(64);
    block.at[0] = 8192;  // times 4 is -32768 in 16 bits
    inverse_dct(out.data(), 8, block.at, 1, quant.at, level);
    EXPECT_EQ(out[0], 0) << name_of(level);
    block.at[63] = 1;
    inverse_dct(out.data(), 8, block.at, 1, quant.at, level);
    EXPECT_EQ(out[0], 255) << name_of(level);
    // What counts is the coefficient, not its product.
    quant.at[63] = 0;
    inverse_dct(out.data(), 8, block.at, 1, quant.at, level);
    EXPECT_EQ(out[0], 255) << name_of(level);
    quant.at[63] = 1;
  }
}

/// in[-1] … in[n], in a block of exactly that size.
struct Row {
  Row(std::size_t n, std::uint32_t seed) : bytes(random_bytes(n + 2, seed)) {}
  const std::uint8_t* at() const { return bytes.data() + 1; }
  int operator[](std::size_t i) const { return bytes[i]; }  // one place to the right
  Bytes bytes;
};

TEST(Upsample, EveryLevelIsTheFormulaAtEveryLength) {
  for (const Level level : supported_levels()) {
    for (std::size_t n = 1; n < 200; ++n) {
      const Row near(n, static_cast<std::uint32_t>(n)), far(n, static_cast<std::uint32_t>(n + 1000));
      Bytes across(2 * n), both(2 * n), above(n), below(n);
      upsample_across(across.data(), near.at(), n, level);
      upsample_both(both.data(), near.at(), far.at(), n, level);
      upsample_down(above.data(), near.at(), far.at(), n, false, level);
      upsample_down(below.data(), near.at(), far.at(), n, true, level);
      for (std::size_t i = 0; i < n; ++i) {
        const int last = 3 * near[i] + far[i], here = 3 * near[i + 1] + far[i + 1], next = 3 * near[i + 2] + far[i + 2];
        ASSERT_EQ(across[2 * i], (3 * near[i + 1] + near[i] + 1) >> 2) << name_of(level) << n;
        ASSERT_EQ(across[2 * i + 1], (3 * near[i + 1] + near[i + 2] + 2) >> 2) << name_of(level) << n;
        ASSERT_EQ(above[i], (here + 1) >> 2) << name_of(level) << n;
        ASSERT_EQ(below[i], (here + 2) >> 2) << name_of(level) << n;
        ASSERT_EQ(both[2 * i], (3 * here + last + 8) >> 4) << name_of(level) << n;
        ASSERT_EQ(both[2 * i + 1], (3 * here + next + 7) >> 4) << name_of(level) << n;
      }
    }
  }
}

TEST(Upsample, EveryPairOfSamplesIsRoundedAsTheFormulaDoes) {
  Bytes near(65536), far(65536), above(65536), below(65536);
  for (std::size_t i = 0; i < near.size(); ++i) {
    near[i] = static_cast<std::uint8_t>(i);
    far[i] = static_cast<std::uint8_t>(i >> 8);
  }
  for (const Level level : supported_levels()) {
    upsample_down(above.data(), near.data(), far.data(), near.size(), false, level);
    upsample_down(below.data(), near.data(), far.data(), near.size(), true, level);
    for (std::size_t i = 0; i < near.size(); ++i) {
      ASSERT_EQ(above[i], (3 * near[i] + far[i] + 1) >> 2) << name_of(level);
      ASSERT_EQ(below[i], (3 * near[i] + far[i] + 2) >> 2) << name_of(level);
    }
  }
}

TEST(Upsample, ReplicationRepeats) {
  const Bytes in{1, 2, 3};
  Bytes twice(6), four(12);
  replicate(twice.data(), in.data(), 3, 2);
  replicate(four.data(), in.data(), 3, 4);
  EXPECT_EQ(twice, (Bytes{1, 1, 2, 2, 3, 3}));
  EXPECT_EQ(four, (Bytes{1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3}));
}

std::uint8_t clamped(int x) { return static_cast<std::uint8_t>(std::clamp(x, 0, 255)); }

TEST(YccToRgb, EveryPairOfChromaIsRoundedAsTheFormulaDoes) {
  constexpr std::size_t kPairs = 65536;
  Bytes cb(kPairs), cr(kPairs), red(kPairs), green(kPairs), blue(kPairs);
  for (std::size_t i = 0; i < kPairs; ++i) {
    cb[i] = static_cast<std::uint8_t>(i >> 8);
    cr[i] = static_cast<std::uint8_t>(i);
  }
  for (const int y : {0, 1, 44, 100, 127, 128, 160, 211, 254, 255}) {
    const Bytes luma(kPairs, static_cast<std::uint8_t>(y));
    for (const Level level : supported_levels()) {
      ycc_to_rgb(red.data(), green.data(), blue.data(), luma.data(), cb.data(), cr.data(), kPairs, level);
      for (std::size_t i = 0; i < kPairs; ++i) {
        const int b = cb[i] - 128, r = cr[i] - 128;
        ASSERT_EQ(red[i], clamped(y + ((91881 * r + 32768) >> 16))) << name_of(level);
        ASSERT_EQ(green[i], clamped(y + ((-22554 * b - 46802 * r + 32768) >> 16))) << name_of(level);
        ASSERT_EQ(blue[i], clamped(y + ((116130 * b + 32768) >> 16))) << name_of(level);
      }
    }
  }
}

TEST(YccToRgb, EveryLevelIsTheReferenceAtEveryLength) {
  for (std::size_t n = 1; n < 200; ++n) {
    const auto seed = static_cast<std::uint32_t>(3 * n);
    const Bytes y = random_bytes(n, seed), cb = random_bytes(n, seed + 1), cr = random_bytes(n, seed + 2);
    const auto converted = [&](Level level) {
      Bytes rgb(3 * n + 64, 0xA5);  // nothing between the planes: a byte too many would be seen
      ycc_to_rgb(rgb.data() + 2 * n, rgb.data() + n, rgb.data(), y.data(), cb.data(), cr.data(), n, level);
      return rgb;
    };
    for (const Level level : supported_levels()) {
      EXPECT_EQ(converted(level), converted(Level::kPortable)) << name_of(level) << n;
    }
  }
}

}  // namespace
}  // namespace drapps::kernel::jpeg
