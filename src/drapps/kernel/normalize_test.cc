#include "drapps/kernel/normalize.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <span>
#include <vector>

#include "drapps/base/half.h"
#include "drapps/kernel/test_picture.h"

namespace drapps::kernel {
namespace {

const std::vector<float> kMean{0.485F, 0.456F, 0.406F};
const std::vector<float> kStd{0.229F, 0.224F, 0.225F};

Normalizer imagenet() { return Normalizer::standard(kMean, kStd).value(); }

// Every level and format, at widths around the vectors' and the tiles' edges, into aligned and unaligned rows.
TEST(Normalize, EveryLevelGivesTheReferencesBits) {
  // The second has arithmetic that is not exact, so that the levels that compute fall back to the table.
  const Normalizer awkward =
      Normalizer::standard(std::vector{0.1F, 3e7F, -0.0F}, std::vector{1e-38F, 3e-5F, 2.9e38F}).value();
  for (const Normalizer& normalizer :
       {imagenet(), awkward, Normalizer::unit(), Normalizer::unit(Scaling::kReciprocal), Normalizer::raw()}) {
    for (const std::int32_t width : {1, 3, 31, 64, 65, 224, 511, 513, 1100}) {
      TestPicture picture(3, 3, width);
      picture.randomize(static_cast<std::uint32_t>(width));
      for (const Dtype dtype :
           {Dtype::kFloat32, Dtype::kBfloat16, Dtype::kFloat16, Dtype::kUint8, Dtype::kInt32, Dtype::kInt64}) {
        for (const Layout layout : {Layout::kNchw, Layout::kNhwc}) {
          const RowFormat format{dtype, layout};
          if (!normalizer.check(3, format).ok()) continue;
          const std::size_t size = row_size(format, 3, 3, width);
          for (const bool mirror : {false, true}) {
            std::vector<std::uint8_t> expected(size);
            normalizer.store(expected.data(), picture.view(), format, mirror, Level::kPortable);
            for (const Level level : supported_levels()) {
              for (const std::size_t offset : {std::size_t{0}, size_of(dtype)}) {
                Buffer row(MemoryLedger::unlimited());
                ASSERT_TRUE(row.ensure(size + 128).ok());
                std::memset(row.data(), 0xA5, size + 128);
                normalizer.store(row.data() + offset, picture.view(), format, mirror, level);
                EXPECT_EQ(std::memcmp(row.data() + offset, expected.data(), size), 0)
                    << name_of(level) << ' ' << name_of(dtype) << ' ' << width;
                for (std::size_t i = 0; i < 64; ++i) EXPECT_EQ(row.data()[offset + size + i], 0xA5);
              }
            }
          }
        }
      }
    }
  }
}

TEST(Normalize, TheReciprocalIsAnotherScalingThanTheDivision) {
  const Normalizer divided = Normalizer::unit();
  const Normalizer multiplied = Normalizer::unit(Scaling::kReciprocal);
  const Normalizer normalized = Normalizer::standard(kMean, kStd, Scaling::kReciprocal).value();
  const auto reciprocal = static_cast<float>(1.0 / 255.0);
  int different = 0;
  for (std::size_t x = 0; x < 256; ++x) {
    const float scaled = static_cast<float>(x) * reciprocal;
    EXPECT_EQ(multiplied.table(0)[x], scaled);
    EXPECT_EQ(normalized.table(2)[x], (scaled - 0.406F) / 0.225F);
    different += divided.table(0)[x] != scaled ? 1 : 0;
  }
  EXPECT_GT(different, 0);
}

TEST(Normalize, TheTableIsDividedStepByStep) {
  const Normalizer normalizer = imagenet();
  for (std::size_t x = 0; x < 256; ++x) {
    const float scaled = static_cast<float>(x) / 255.0F;
    const float centred = scaled - 0.456F;
    EXPECT_EQ(normalizer.table(1)[x], centred / 0.224F);
  }
}

TEST(Normalize, ATableIsTakenAsItIs) {
  std::vector<float> values;
  for (int c = 0; c < 3; ++c) {
    for (int x = 0; x < 256; ++x) values.push_back(std::pow(static_cast<float>(x), 0.45F) - static_cast<float>(c));
  }
  const auto own = Normalizer::from_table(values);
  ASSERT_TRUE(own.ok());
  const auto shared = Normalizer::from_table(std::span(values).first(256));
  ASSERT_TRUE(shared.ok());
  for (std::size_t c = 0; c < 3; ++c) {
    for (std::size_t x = 0; x < 256; ++x) {
      ASSERT_EQ(own->table(static_cast<std::int32_t>(c))[x], values[256 * c + x]);
      ASSERT_EQ(shared->table(static_cast<std::int32_t>(c))[x], values[x]);
    }
  }
  EXPECT_TRUE(shared->check(4, {Dtype::kFloat32, Layout::kNhwc}).ok());
  EXPECT_FALSE(own->check(1, {Dtype::kFloat32, Layout::kNhwc}).ok());
  EXPECT_FALSE(own->check(3, {Dtype::kUint8, Layout::kNhwc}).ok());
  EXPECT_FALSE(Normalizer::from_table(std::span(values).first(300)).ok());
  EXPECT_FALSE(Normalizer::from_table({}).ok());
  values[7] = INFINITY;
  EXPECT_FALSE(Normalizer::from_table(values).ok());
}

TEST(Normalize, MirroringReadsRowsFromTheRight) {
  TestPicture picture(1, 1, 5);
  for (std::int32_t x = 0; x < 5; ++x) picture.view().row(0, 0)[x] = static_cast<std::uint8_t>(x);
  std::vector<float> row(5);
  Normalizer::raw().store(row.data(), picture.view(), {Dtype::kFloat32, Layout::kNchw}, true);
  EXPECT_EQ(row, (std::vector<float>{4, 3, 2, 1, 0}));
}

TEST(Normalize, Bfloat16RoundsTiesToEven) {
  TestPicture picture(1, 1, 1);
  picture.view().row(0, 0)[0] = 255;
  for (const Level level : supported_levels()) {
    // 255 / 255 + 2^-8 is half-way between 1 and 1 + 2^-7: the even one is 1.
    const Normalizer normalizer = Normalizer::standard(std::vector{-0.00390625F}, std::vector{1.0F}).value();
    std::uint16_t number = 0;
    normalizer.store(&number, picture.view(), {Dtype::kBfloat16, Layout::kNchw}, false, level);
    EXPECT_EQ(number, 0x3F80) << name_of(level);
  }
}

TEST(Normalize, Float16IsTheFloatRounded) {
  const Normalizer normalizer = imagenet();
  TestPicture picture(3, 1, 256);
  for (std::int32_t c = 0; c < 3; ++c) {
    for (std::int32_t x = 0; x < 256; ++x) picture.view().row(c, 0)[x] = static_cast<std::uint8_t>(x);
  }
  std::vector<std::uint16_t> row(std::size_t{3} * 256);
  for (const Level level : supported_levels()) {
    normalizer.store(row.data(), picture.view(), {Dtype::kFloat16, Layout::kNchw}, false, level);
    for (std::size_t i = 0; i < row.size(); ++i) {
      EXPECT_EQ(row[i], to_float16(normalizer.table(static_cast<std::int32_t>(i / 256))[i % 256])) << name_of(level);
    }
  }
}

TEST(Normalize, WhatCannotBeMadeIsRefused) {
  for (const Dtype dtype : {Dtype::kInt16, Dtype::kFloat64, Dtype::kBool}) {
    EXPECT_FALSE(Normalizer::raw().check(3, {dtype, Layout::kNchw}).ok()) << name_of(dtype);
  }
  EXPECT_FALSE(Normalizer::standard(kMean, std::vector{1.0F}).ok());
  EXPECT_FALSE(Normalizer::standard(std::vector{0.0F}, std::vector{0.0F}).ok());
  EXPECT_FALSE(Normalizer::standard({}, {}).ok());
  EXPECT_FALSE(imagenet().check(1, {Dtype::kFloat32, Layout::kNchw}).ok());
  EXPECT_FALSE(imagenet().check(3, {Dtype::kUint8, Layout::kNchw}).ok());
  EXPECT_FALSE(Normalizer::raw().check(5, {Dtype::kUint8, Layout::kNchw}).ok());
  EXPECT_TRUE(Normalizer::raw().check(4, {Dtype::kInt64, Layout::kNhwc}).ok());
}

TEST(NormalizeFloats, SubtractsAndDividesInEitherLayout) {
  const std::vector<float> mean{0.5F, 0.25F, 0.1F, -1.0F}, std{0.3F, 2.0F, 0.7F, 1e-3F};
  for (std::size_t channels = 1; channels <= 4; ++channels) {
    for (const std::size_t pixels : {1, 15, 16, 17, 100}) {
      for (const Layout layout : {Layout::kNchw, Layout::kNhwc}) {
        std::vector<float> in(channels * pixels), expected(in.size());
        for (std::size_t i = 0; i < in.size(); ++i) {
          in[i] = static_cast<float>(i * 37 % 101) / 255.0F;
          const std::size_t c = layout == Layout::kNchw ? i / pixels : i % channels;
          expected[i] = (in[i] - mean[c]) / std[c];
        }
        const std::span<const float> means(mean), stds(std);
        normalize_floats(in.data(), in.data(), pixels, layout, means.first(channels), stds.first(channels));
        EXPECT_EQ(in, expected) << channels << " channels, " << pixels << " pixels";
      }
    }
  }
}

}  // namespace
}  // namespace drapps::kernel
