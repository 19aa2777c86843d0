// The kernels that decode JPEGs, run block by block against those of the CPU: byte for byte.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "drapps/device/kernel/body.h"
#include "drapps/device/kernel/jpeg_scan.h"
#include "drapps/device/kernel/jpeg_transform.h"
#include "drapps/kernel/jpeg/idct.h"
#include "drapps/kernel/jpeg/zigzag.h"

namespace drapps::device {
namespace {

struct alignas(64) Block {
  std::int16_t at[kJpegBlock];
};

/// Coefficients of any size, up to those that only a forger writes; some blocks with a first row alone.
class JpegTransformKernel : public ::testing::Test {
 protected:
  static constexpr std::int32_t kAcross = 13, kDown = 7;

  std::int16_t number(int bits) {
    return static_cast<std::int16_t>(std::uniform_int_distribution(-(1 << bits), (1 << bits) - 1)(random_));
  }

  void fill(std::vector<Block>& blocks, Block& quantizer, int bits) {
    for (std::int16_t& each : quantizer.at) each = bits == 15 ? number(15) : static_cast<std::int16_t>(number(6) | 1);
    for (std::size_t b = 0; b < blocks.size(); ++b) {
      for (std::size_t i = 0; i < kJpegBlock; ++i) {
        const bool zero = (b % 3 == 1 && i >= 8) || (b % 3 == 2 && random_() % 4 != 0);
        blocks[b].at[i] = zero ? std::int16_t{0} : number(bits);
      }
    }
  }

  std::mt19937 random_{7};
};

TEST_F(JpegTransformKernel, MakesTheSamplesOfTheCpu) {
  constexpr std::size_t kCount = std::size_t{kAcross} * kDown, kSkipped = 5;
  for (const int bits : {3, 8, 11, 15}) {
    std::vector<Block> blocks(kSkipped + kCount);
    std::vector<Block> quantizers(2);
    fill(blocks, quantizers[1], bits);
    std::vector<std::uint8_t> expected(kCount * kJpegBlock), bytes(kJpegBlock + kCount * kJpegBlock, 0xEE);
    for (std::size_t row = 0; row < kDown; ++row) {
      kernel::jpeg::inverse_dct(&expected[row * kAcross * kJpegBlock], 8 * kAcross, blocks[kSkipped + row * kAcross].at,
                                kAcross, quantizers[1].at);
    }
    const JpegPlane plane{.blocks = kSkipped, .samples = kJpegBlock, .across = kAcross, .down = kDown, .quantizer = 1};
    std::vector<JpegTile> tiles;
    for (std::int32_t first = 0; first < kAcross * kDown; first += JpegTransform::kBlocks) tiles.push_back({0, first});
    const JpegTransformArguments arguments{.coefficients = blocks[0].at,
                                           .quantizers = quantizers[0].at,
                                           .planes = &plane,
                                           .tiles = tiles.data(),
                                           .samples = bytes.data()};
    JpegTransform::Shared shared;
    for (std::size_t block = 0; block < tiles.size(); ++block) {
      std::fill_n(reinterpret_cast<std::byte*>(&shared), sizeof(shared), std::byte{0xA5});
      run_block<JpegTransform>(arguments, shared, static_cast<std::int32_t>(block), 99);
    }
    EXPECT_TRUE(std::equal(expected.begin(), expected.end(), bytes.begin() + kJpegBlock)) << bits;
    EXPECT_TRUE(std::all_of(bytes.begin(), bytes.begin() + kJpegBlock, [](std::uint8_t byte) { return byte == 0xEE; }));
  }
}

/// A scan of one component whose only code of DC is 0, for no difference, and whose only one of AC is 0, for the end of
/// a block: two bits a block.
class JpegHuffmanKernel : public ::testing::Test {
 protected:
  static constexpr std::uint32_t kMcus = 6;

  JpegHuffmanKernel() {
    for (std::size_t i = 0; i < codes_.size(); ++i) {
      const std::uint32_t entry = 1 | 1 << 8 | (i == 0 ? 1u : 128u) << 16;
      std::fill_n(codes_[i].single, 1 << (JpegCode::kSingleBits - 1), entry);
      std::fill(std::begin(codes_[i].limit) + 1, std::end(codes_[i].limit), 1u << 15);
      codes_[i].limit[17] = 1u << 16;
      codes_[i].symbol[0] = entry;
    }
    scan_ = {.bits = 16, .markers = 0, .components = 1, .mcus_across = kMcus, .mcus_down = 1, .end_column = kMcus};
    scan_.ac[0] = 1;
  }

  bool decode(const JpegSegment& segment) {
    std::uint8_t right = 7;
    const JpegHuffmanArguments arguments{.data = reinterpret_cast<const std::uint8_t*>(data_.data()),
                                         .restarts = restarts_.data(),
                                         .scans = &scan_,
                                         .segments = &segment,
                                         .count = 1,
                                         .codes = codes_.data(),
                                         .zigzag = kernel::jpeg::kZigzag.data(),
                                         .planes = &plane_,
                                         .coefficients = blocks_[0].at,
                                         .right = &right};
    JpegHuffman::Shared shared;
    run_block<JpegHuffman>(arguments, shared, 0, 5);
    EXPECT_LE(right, 1);
    return right == 1;
  }

  JpegScan scan_;
  std::vector<JpegCode> codes_ = std::vector<JpegCode>(2);
  std::vector<std::uint32_t> restarts_{1};
  std::vector<std::uint64_t> data_ = std::vector<std::uint64_t>(1 + JpegScan::kPadding / 8);
  JpegPlane plane_{.across = kMcus, .down = 1};
  std::vector<Block> blocks_ = std::vector<Block>(kMcus);
};

TEST_F(JpegHuffmanKernel, HoldsTheEndAgainstTheIndex) {
  const JpegPlace end{.bit = 8, .known = 1};
  EXPECT_TRUE(decode({.count = 4, .end = end}));
  EXPECT_FALSE(decode({.count = 3, .end = end}));
  EXPECT_FALSE(decode({.count = 4, .begin = {.bit = 1}, .end = end}));
  EXPECT_FALSE(decode({.count = 4, .begin = {.dc = {1, 0, 0}}, .end = end}));
  EXPECT_FALSE(decode({.count = 4, .begin = {.dc = {0, 0, 1}}, .end = end}));
  EXPECT_TRUE(decode({.count = 6}));
}

TEST_F(JpegHuffmanKernel, RefusesWhatIsNoCodeAndWhatIsNotThere) {
  EXPECT_TRUE(decode({.column = 2, .count = 4, .begin = {.bit = 8}}));
  EXPECT_FALSE(decode({.column = 2, .count = 4, .begin = {.bit = 10}}));          // ends beyond the data
  EXPECT_FALSE(decode({.column = 2, .count = 4, .begin = {.bit = 0xFFFFFFF0}}));  // begins there
  reinterpret_cast<std::uint8_t*>(data_.data())[1] = 0x80;
  EXPECT_FALSE(decode({.count = 6}));
}

TEST_F(JpegHuffmanKernel, StepsOverRestartMarkersWhereTheyAreDue) {
  scan_.interval = 3;
  scan_.markers = 1;
  EXPECT_TRUE(decode({.count = 6, .begin = {.dc = {9, 0, 0}}}));
  for (std::uint32_t i = 0; i < kMcus; ++i) EXPECT_EQ(blocks_[i].at[0], i < 3 ? 9 : 0);
  EXPECT_TRUE(decode({.count = 3, .end = {.bit = 8, .known = 1}}));
  EXPECT_TRUE(decode({.count = 3}));
  EXPECT_FALSE(decode({.count = 3, .end = {.bit = 6, .known = 1}}));
  restarts_[0] = 2;
  EXPECT_FALSE(decode({.count = 6}));
  EXPECT_FALSE(decode({.count = 3}));
  scan_.markers = 0;
  EXPECT_FALSE(decode({.count = 6}));
}

TEST_F(JpegHuffmanKernel, WritesTheColumnsThatAreAskedForAlone) {
  scan_.first_column = 2;
  scan_.end_column = 4;
  plane_.across = 2;
  for (Block& block : blocks_) std::fill(std::begin(block.at), std::end(block.at), std::int16_t{77});
  EXPECT_TRUE(decode({.count = 6}));
  for (std::uint32_t i = 0; i < kMcus; ++i) EXPECT_EQ(blocks_[i].at[63], i < 2 ? 0 : 77);
}

}  // namespace
}  // namespace drapps::device
