// What the random ops draw, and that nothing else happens.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <map>

#include "drapps/augment/picture/testing.h"
#include "drapps/kernel/color.h"
#include "drapps/kernel/planes.h"

namespace drapps {
namespace {

using testing::make_sample;
using testing::pixels;

Draws draws_of(std::uint64_t position) { return Draws({.seed = 21, .position = position}, 2); }

/// χ² of equally likely outcomes.
template <class Counts>
double chi_square(const Counts& counts, double expected) {
  double sum = 0;
  for (const auto& [key, count] : counts) sum += (count - expected) * (count - expected) / expected;
  return sum;
}

template <class Flip, class Mirror>
void expect_flips(Mirror mirror) {
  Scratch scratch(MemoryLedger::unlimited());
  ImageBuffer buffer(MemoryLedger::unlimited());
  int flipped = 0;
  constexpr int kCount = 2000;
  for (std::uint64_t position = 0; position < kCount; ++position) {
    auto owned = make_sample(1, 3, {4, 6});
    const ImageView mirrored = buffer.reshape(3, 4, 6).value();
    mirror(mirrored, owned->picture.image);
    const auto before = pixels(owned->picture.image);
    OpContext ctx{draws_of(position), scratch};
    ASSERT_TRUE(Flip{.p = 0.25}.run(owned->picture, ctx).ok());
    const auto after = pixels(owned->picture.image);
    if (after != before) ++flipped;
    EXPECT_THAT(after, ::testing::AnyOf(before, pixels(mirrored)));
  }
  EXPECT_NEAR(flipped, kCount * 0.25, 4 * std::sqrt(kCount * 0.25 * 0.75));
}

TEST(HorizontalFlip, MirrorsColumnsWithItsProbability) {
  expect_flips<HorizontalFlip>([](ImageView out, ConstImageView in) { kernel::flip_horizontal(out, in); });
}

TEST(VerticalFlip, MirrorsRowsWithItsProbability) {
  expect_flips<VerticalFlip>([](ImageView out, ConstImageView in) { kernel::flip_vertical(out, in); });
}

TEST(RandomResize, TakesEachLengthBelowTheLastEquallyOftenAndDrawsTwoWords) {
  const RandomResize op{.min_size = 10, .max_size = 16};
  Scratch scratch(MemoryLedger::unlimited());
  std::map<std::int32_t, int> counts;
  constexpr int kCount = 6000;
  for (std::uint64_t position = 0; position < kCount; ++position) {
    auto owned = make_sample(1, 3, {20, 30});
    OpContext ctx{draws_of(position), scratch};
    ASSERT_TRUE(op.run(owned->picture, ctx).ok());
    EXPECT_EQ(owned->picture.extent.width, owned->picture.extent.height * 30 / 20);
    EXPECT_EQ(owned->picture.mask->width, owned->picture.extent.width);
    Draws draws = draws_of(position);
    EXPECT_EQ(owned->picture.extent.height, 10 + static_cast<std::int32_t>(draws.below(6)));
    ++counts[owned->picture.extent.height];
  }
  EXPECT_EQ(counts.size(), 6u);
  EXPECT_LT(chi_square(counts, kCount / 6.0), 15.1);  // 5 degrees of freedom, 1 %
}

TEST(RandomApply, LeavesTheOpsBehindItOutAndDrawsOneWord) {
  const RandomApply op{.p = 0.25, .count = 3};
  Scratch scratch(MemoryLedger::unlimited());
  int applied = 0;
  constexpr int kCount = 2000;
  for (std::uint64_t position = 0; position < kCount; ++position) {
    auto owned = make_sample(1, 3, {4, 6});
    OpContext ctx{draws_of(position), scratch};
    ASSERT_TRUE(op.run(owned->picture, ctx).ok());
    Draws draws = draws_of(position);
    EXPECT_EQ(ctx.skip, draws.coin(0.25) ? 0 : 3);
    EXPECT_EQ(ctx.draws.u32(), draws.u32());
    if (ctx.skip == 0) ++applied;
  }
  EXPECT_NEAR(applied, kCount * 0.25, 4 * std::sqrt(kCount * 0.25 * 0.75));
  EXPECT_FALSE((RandomApply{.p = 1.1}.check().ok()));
  EXPECT_FALSE((RandomApply{.count = 0}.check().ok()));
}

TEST(RandomApply, KnowsOfEitherCaseWhatHoldsForBoth) {
  const PictureSpec small{.extent = {20, 30}, .fixed = true};
  const PictureSpec large{.extent = {25, 10}, .fixed = true, .erased = true};
  EXPECT_EQ(either(small, small).value(), small);
  EXPECT_EQ(either(small, large).value(), (PictureSpec{.extent = {25, 30}, .erased = true}));
  EXPECT_EQ(either(small, PictureSpec{}).value(), PictureSpec{});
  EXPECT_FALSE(either(small, PictureSpec{.channels = 1}).ok());
}

TEST(ResizeKeepRatio, DrawsFactorsOnlyWhereTheirCoinsFall) {
  const ResizeKeepRatio op{
      .height = 30, .width = 20, .longest = 1.0, .scale_p = 0.5, .scale_area = true, .aspect_p = 0.25};
  Scratch scratch(MemoryLedger::unlimited());
  std::map<std::pair<bool, bool>, int> counts;
  constexpr int kCount = 2000;
  for (std::uint64_t position = 0; position < kCount; ++position) {
    auto owned = make_sample(1, 1, {61, 83});
    OpContext ctx{draws_of(position), scratch};
    ASSERT_TRUE(op.run(owned->picture, ctx).ok());
    Draws draws = draws_of(position);
    const bool scaled = draws.coin(0.5);
    const double scale = scaled ? 1 / std::sqrt(draws.uniform(0.85, 1.05)) : 1.0;
    const bool stretched = draws.coin(0.25);
    const double aspect = stretched ? std::exp(draws.uniform(std::log(0.9), std::log(1.11))) : 1.0;
    EXPECT_EQ(ctx.draws.u32(), draws.u32());
    const double ratio = 83.0 / 20.0;  // the larger one
    EXPECT_NEAR(owned->picture.extent.height, 61 * scale / std::sqrt(aspect) / ratio, 0.5 + 1e-9);
    EXPECT_NEAR(owned->picture.extent.width, 83 * scale * std::sqrt(aspect) / ratio, 0.5 + 1e-9);
    ++counts[{scaled, stretched}];
  }
  EXPECT_NEAR((counts[{true, false}] + counts[{true, true}]), kCount * 0.5, 4 * std::sqrt(kCount * 0.25));
  EXPECT_NEAR((counts[{false, true}] + counts[{true, true}]), kCount * 0.25, 4 * std::sqrt(kCount * 0.25 * 0.75));
}

TEST(ResizeKeepRatio, RefusesASideWithoutPixelsAndWhatIsOutOfRange) {
  Scratch scratch(MemoryLedger::unlimited());
  auto owned = make_sample(1, 1, {2, 300});
  OpContext ctx{draws_of(0), scratch};
  EXPECT_FALSE((ResizeKeepRatio{.height = 30, .width = 30, .longest = 1.0}.run(owned->picture, ctx).ok()));
  EXPECT_FALSE(
      (ResizeKeepRatio{.height = 30, .width = 30, .longest = 1.0}.infer({.extent = {2, 300}, .fixed = true}).ok()));
  EXPECT_FALSE((ResizeKeepRatio{.longest = 1.5}.check().ok()));
  EXPECT_FALSE((ResizeKeepRatio{.scale_p = -1}.check().ok()));
  EXPECT_FALSE((ResizeKeepRatio{.aspect = {0.0, 1.0}}.check().ok()));
}

TEST(RandomResize, RefusesRangesThatDoNotRise) {
  EXPECT_FALSE((RandomResize{.min_size = 5, .max_size = 5}.check().ok()));
  EXPECT_FALSE((RandomResize{.min_size = 0, .max_size = 5}.check().ok()));
  EXPECT_FALSE((RandomResize{.min_size = 1, .max_size = 2, .interpolation = Interpolation::kRandom}.check().ok()));
  EXPECT_TRUE((RandomResize{.min_size = 1, .max_size = 2}.check().ok()));
  EXPECT_FALSE((RandomResize{.min_size = 1, .max_size = 2}.infer({.extent = {4, 4}, .fixed = true})->fixed));
}

TEST(ColorJitter, DrawsEveryOrderEquallyOften) {
  const ColorJitter op{.brightness = {0.5, 1.5}};
  std::map<std::array<ColorJitter::JitterStep, 4>, int> counts;
  constexpr int kCount = 24000;
  for (std::uint64_t position = 0; position < kCount; ++position) {
    Draws draws = draws_of(position);
    ++counts[op.draw(draws).order];
  }
  EXPECT_EQ(counts.size(), 24u);
  EXPECT_LT(chi_square(counts, kCount / 24.0), 41.6);  // 23 degrees of freedom, 1 %
}

TEST(ColorJitter, DrawsFactorsUniformlyFromTheRangesThatAreOn) {
  const ColorJitter op{.brightness = {0.6, 1.4}, .saturation = {0.0, 3.0}, .hue = {-0.1, 0.3}};
  std::array<double, 4> sum{};
  constexpr int kCount = 20000;
  for (std::uint64_t position = 0; position < kCount; ++position) {
    Draws draws = draws_of(position);
    const ColorJitter::Drawn drawn = op.draw(draws);
    EXPECT_EQ(drawn.on, (std::array{true, false, true, true}));
    const auto within = [&](ColorJitter::JitterStep step, const std::array<double, 2>& range) {
      EXPECT_GE(drawn.factor[step], range[0]);
      EXPECT_LT(drawn.factor[step], range[1]);
      sum[step] += drawn.factor[step] / kCount;
    };
    within(ColorJitter::kBrightness, op.brightness);
    within(ColorJitter::kSaturation, op.saturation);
    within(ColorJitter::kHue, op.hue);
    Draws counted = draws_of(position);
    for (int word = 0; word < 5; ++word) (void)counted.u32();  // the order's two and a factor for each step that is on
    EXPECT_EQ(draws.u32(), counted.u32());
  }
  const double sigma = 1 / std::sqrt(12.0 * kCount);
  EXPECT_NEAR(sum[ColorJitter::kBrightness], 1.0, 4 * 0.8 * sigma);
  EXPECT_NEAR(sum[ColorJitter::kSaturation], 1.5, 4 * 3.0 * sigma);
  EXPECT_NEAR(sum[ColorJitter::kHue], 0.1, 4 * 0.4 * sigma);
}

TEST(ColorJitter, AppliesTheStepsInTheDrawnOrder) {
  const ColorJitter op{.brightness = {0.6, 1.4}, .contrast = {0.6, 1.4}, .saturation = {0.6, 1.4}, .hue = {-0.5, 0.5}};
  Scratch scratch(MemoryLedger::unlimited());
  for (const std::int32_t channels : {1, 3}) {
    for (std::uint64_t position = 0; position < 50; ++position) {
      auto owned = make_sample(position, channels, {9, 70});
      auto expected = make_sample(position, channels, {9, 70});
      OpContext ctx{draws_of(position), scratch};
      ASSERT_TRUE(op.run(owned->picture, ctx).ok());
      Draws draws = draws_of(position);
      const ColorJitter::Drawn drawn = op.draw(draws);
      const ImageView image = expected->picture.image;
      for (const ColorJitter::JitterStep step : drawn.order) {
        const double factor = drawn.factor[step];
        if (step == ColorJitter::kBrightness) kernel::adjust_brightness(image, image, static_cast<float>(factor));
        if (step == ColorJitter::kContrast) kernel::adjust_contrast(image, image, static_cast<float>(factor));
        if (channels == 1) continue;
        if (step == ColorJitter::kSaturation) kernel::adjust_saturation(image, image, static_cast<float>(factor));
        if (step == ColorJitter::kHue) kernel::adjust_hue(image, image, factor);
      }
      EXPECT_EQ(pixels(owned->picture.image), pixels(image));
    }
  }
}

TEST(Grayscale, MakesOneOrThreeEqualChannels) {
  Scratch scratch(MemoryLedger::unlimited());
  for (const std::int32_t from : {1, 3}) {
    auto one = make_sample(3, from, {7, 31});
    auto three = make_sample(3, from, {7, 31});
    OpContext ctx{draws_of(0), scratch};
    ASSERT_TRUE(Grayscale{.channels = 1}.run(one->picture, ctx).ok());
    const auto luma = pixels(one->picture.image);
    ASSERT_TRUE(Grayscale{.channels = 3}.run(three->picture, ctx).ok());
    std::vector<std::uint8_t> thrice;
    for (int i = 0; i < 3; ++i) thrice.insert(thrice.end(), luma.begin(), luma.end());
    EXPECT_EQ(luma.size(), 7u * 31);
    EXPECT_EQ(pixels(three->picture.image), thrice);
  }
}

TEST(RandomGrayscale, KeepsTheChannelsAndItsProbability) {
  Scratch scratch(MemoryLedger::unlimited());
  int gray = 0;
  constexpr int kCount = 2000;
  for (std::uint64_t position = 0; position < kCount; ++position) {
    auto owned = make_sample(1, 3, {2, 3});
    OpContext ctx{draws_of(position), scratch};
    ASSERT_TRUE(RandomGrayscale{.p = 0.3}.run(owned->picture, ctx).ok());
    ASSERT_EQ(owned->picture.image.channels, 3);
    const auto all = pixels(owned->picture.image);
    if (std::equal(all.begin(), all.begin() + 12, all.begin() + 6)) ++gray;
  }
  EXPECT_NEAR(gray, kCount * 0.3, 4 * std::sqrt(kCount * 0.3 * 0.7));
}

TEST(RandomResizedCrop, TakesEitherFilterHalfOfTheTime) {
  RandomResizedCrop random{.height = 8, .width = 8, .interpolation = Interpolation::kRandom};
  RandomResizedCrop bilinear = random;
  RandomResizedCrop bicubic = random;
  bilinear.interpolation = Interpolation::kBilinear;
  bicubic.interpolation = Interpolation::kBicubic;
  Scratch scratch(MemoryLedger::unlimited());
  const auto run = [&](const RandomResizedCrop& op, std::uint64_t position) {
    auto owned = make_sample(2, 1, {30, 40});
    OpContext ctx{draws_of(position), scratch};
    EXPECT_TRUE(op.run(owned->picture, ctx).ok());
    return pixels(owned->picture.image);
  };
  int bilinears = 0;
  constexpr int kCount = 1000;
  for (std::uint64_t position = 0; position < kCount; ++position) {
    const auto output = run(random, position);
    const bool is_bilinear = output == run(bilinear, position);
    EXPECT_NE(is_bilinear, output == run(bicubic, position));
    bilinears += is_bilinear ? 1 : 0;
  }
  EXPECT_NEAR(bilinears, kCount / 2.0, 2 * std::sqrt(kCount));
}

TEST(RandomErasing, DrawsWhetherAndHowManyRectangles) {
  const RandomErasing op{
      .p = 0.6, .scale = {0.02, 0.1}, .mode = EraseMode::kNormalPerPixel, .min_count = 2, .max_count = 4};
  Scratch scratch(MemoryLedger::unlimited());
  std::map<std::size_t, int> counts;
  constexpr int kCount = 6000;
  std::uint64_t last_key = 0;
  for (std::uint64_t position = 0; position < kCount; ++position) {
    Picture picture;
    picture.extent = {100, 80};
    OpContext ctx{draws_of(position), scratch};
    ASSERT_TRUE(op.run(picture, ctx).ok());
    ++counts[picture.erasures.size()];
    double area = 0;
    for (const Erasure& erasure : picture.erasures) {
      EXPECT_EQ(erasure.fill, EraseMode::kNormalPerPixel);
      EXPECT_NE(erasure.key, last_key);
      last_key = erasure.key;
      area += static_cast<double>(erasure.rect.height) * erasure.rect.width;
    }
    EXPECT_LT(area, 0.12 * 100 * 80);
  }
  EXPECT_NEAR(counts[0], kCount * 0.4, 4 * std::sqrt(kCount * 0.24));
  const int erased = kCount - counts[0];
  counts.erase(0);
  EXPECT_EQ(counts.size(), 3u);
  EXPECT_LT(chi_square(counts, erased / 3.0), 9.2);  // 2 degrees of freedom, 1 %
}

TEST(RandomErasing, GivesEachChannelItsValue) {
  Scratch scratch(MemoryLedger::unlimited());
  Picture picture;
  picture.extent = {50, 50};
  for (const auto& [value, expected] : {std::pair(std::vector{0.5F}, std::array{0.5F, 0.5F, 0.5F}),
                                        std::pair(std::vector{1.0F, 2.0F, 3.0F}, std::array{1.0F, 2.0F, 3.0F})}) {
    picture.erasures.clear();
    OpContext ctx{draws_of(1), scratch};
    ASSERT_TRUE((RandomErasing{.p = 1.0, .value = value}.run(picture, ctx).ok()));
    ASSERT_EQ(picture.erasures.size(), 1u);
    for (std::size_t c = 0; c < 3; ++c) EXPECT_EQ(picture.erasures[0].value[c], expected[c]);
  }
}

}  // namespace
}  // namespace drapps
