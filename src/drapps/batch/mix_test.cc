#include "drapps/batch/mix.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "drapps/base/exact_math.h"

namespace drapps {
namespace {

using ::testing::HasSubstr;

constexpr Extent kExtent{5, 7};
constexpr std::int32_t kChannels = 3;
constexpr std::size_t kPixels = 5 * 7 * 3;
constexpr PictureSpec kSamples{.channels = kChannels, .extent = kExtent, .fixed = true};

Draws at(std::uint64_t position) { return Draws({.seed = 4, .epoch = 1, .position = position}, 3); }

std::string refusal(const Mix& mix) {
  const Status status = mix.check();
  return status.ok() ? "accepted" : status.error().message;
}

TEST(Mix, RefusesWhatIsOutOfRange) {
  EXPECT_EQ(refusal({.mixup_alpha = 1e-6, .num_classes = 1}), "accepted");
  EXPECT_EQ(refusal({.cutmix_alpha = 1e6, .num_classes = 1 << 20}), "accepted");
  EXPECT_THAT(refusal({.num_classes = 1}), HasSubstr("neither"));
  EXPECT_THAT(refusal({.mixup_alpha = 1e-7, .num_classes = 1}), HasSubstr("mixup_alpha"));
  EXPECT_THAT(refusal({.cutmix_alpha = -1, .num_classes = 1}), HasSubstr("cutmix_alpha"));
  EXPECT_THAT(refusal({.mixup_alpha = std::nan(""), .num_classes = 1}), HasSubstr("mixup_alpha"));
  EXPECT_THAT(refusal({.mixup_alpha = 1, .num_classes = 0}), HasSubstr("num_classes"));
  EXPECT_THAT(refusal({.mixup_alpha = 1, .p = 1.5, .num_classes = 1}), HasSubstr("probability"));
}

TEST(MixDraws, LambdaIsBetaDistributed) {
  constexpr int kTimes = 40000;
  for (const double alpha : {1e-6, 0.1, 0.4, 1.0, 3.0, 50.0, 1e6}) {
    double sum = 0;
    double squares = 0;
    for (int i = 0; i < kTimes; ++i) {
      Draws draws = at(static_cast<std::uint64_t>(i));
      const double lambda = draw_lambda(alpha, draws);
      ASSERT_TRUE(lambda >= 0 && lambda <= 1) << lambda;
      ASSERT_EQ(lambda, static_cast<float>(lambda));
      sum += lambda - 0.5;
      squares += (lambda - 0.5) * (lambda - 0.5);
    }
    const double variance = 1 / (4 * (2 * alpha + 1));
    EXPECT_NEAR(sum / kTimes, 0, 5 * std::sqrt(variance / kTimes)) << alpha;
    EXPECT_NEAR(squares / kTimes / variance, 1, 0.03) << alpha;
  }
}

TEST(MixDraws, LambdaOfAlphaOneIsUniform) {
  std::array<int, 20> cells{};
  constexpr int kTimes = 40000;
  for (int i = 0; i < kTimes; ++i) {
    Draws draws = at(static_cast<std::uint64_t>(i));
    ++cells[std::min<std::size_t>(static_cast<std::size_t>(draw_lambda(1, draws) * 20), 19)];
  }
  double chi = 0;
  for (const int count : cells) chi += (count - kTimes / 20.0) * (count - kTimes / 20.0) / (kTimes / 20.0);
  EXPECT_LT(chi, 43.8);  // the 99.9 % quantile of 19 degrees of freedom
}

TEST(MixDraws, TheBoxLiesInThePictureAndLambdaIsWhatItLeaves) {
  const Mix mix{.cutmix_alpha = 1, .num_classes = 2};
  bool some = false;
  for (const Extent extent : {Extent{1, 1}, Extent{5, 7}, Extent{224, 100}}) {
    for (std::uint64_t i = 0; i < 2000; ++i) {
      const MixDraw draw = draw_mix(mix, extent, at(i));
      ASSERT_EQ(draw.kind, MixDraw::MixKind::kCutMix);
      const Rect& box = draw.box;
      ASSERT_TRUE(box.top >= 0 && box.left >= 0 && box.height >= 0 && box.width >= 0);
      ASSERT_TRUE(box.top + box.height <= extent.height && box.left + box.width <= extent.width);
      ASSERT_EQ(draw.lambda, 1 - static_cast<double>(box.height) * box.width / (extent.height * extent.width));
      some = some || box.height * box.width > 0;
    }
  }
  EXPECT_TRUE(some);
}

TEST(MixDraws, SharesOfKindsAreThoseAskedFor) {
  const Mix mix{.mixup_alpha = 1, .cutmix_alpha = 1, .p = 0.8, .cutmix_share = 0.25, .num_classes = 2};
  std::array<int, 3> kinds{};
  for (std::uint64_t i = 0; i < 10000; ++i) ++kinds[static_cast<std::size_t>(draw_mix(mix, kExtent, at(i)).kind)];
  EXPECT_NEAR(kinds[0], 2000, 200);
  EXPECT_NEAR(kinds[1], 6000, 250);
  EXPECT_NEAR(kinds[2], 2000, 200);
}

/// A batch of float pictures with one-hot labels, as the writers leave it.
struct Whole {
  explicit Whole(const Mixer& mixer, std::uint32_t count, std::size_t classes) : rows(count), images(count * kPixels) {
    for (std::size_t i = 0; i < images.size(); ++i) images[i] = std::sin(static_cast<float>(i));
    labels.resize(count * classes, 7.0F);
    for (std::uint32_t row = 0; row < count; ++row) {
      mixer.write_label(row % static_cast<std::int64_t>(classes),
                        reinterpret_cast<std::byte*>(labels.data() + row * classes));
    }
  }
  void mix(const Mixer& mixer, std::uint64_t position) {
    mixer.run(reinterpret_cast<std::byte*>(images.data()), reinterpret_cast<std::byte*>(labels.data()), rows,
              at(position));
  }
  std::uint32_t rows;
  std::vector<float> images;
  std::vector<float> labels;
};

/// before · (1 − λ) + own · λ, row by row, out of place.
std::vector<float> blended(const std::vector<float>& in, std::uint32_t rows, double lambda) {
  std::vector<float> out(in.size());
  const std::size_t size = in.size() / rows;
  for (std::size_t i = 0; i < in.size(); ++i) {
    const float before = in[(i + in.size() - size) % in.size()] * static_cast<float>(1 - lambda);
    out[i] = before + in[i] * static_cast<float>(lambda);
  }
  return out;
}

TEST(Mixer, MixUpJoinsEachRowWithTheOneBefore) {
  const Mix mix{.mixup_alpha = 1, .num_classes = 3};
  const Mixer mixer = *Mixer::make(mix, {}, kSamples);
  for (const std::uint32_t rows : {1u, 2u, 5u}) {
    Whole batch(mixer, rows, 3);
    const double lambda = draw_mix(mix, kExtent, at(rows)).lambda;
    const auto images = blended(batch.images, rows, lambda);
    const auto labels = blended(batch.labels, rows, lambda);
    batch.mix(mixer, rows);
    EXPECT_EQ(batch.images, images);
    EXPECT_EQ(batch.labels, labels);
  }
}

TEST(Mixer, CutMixTakesTheBoxOfTheRowBeforeInEitherLayout) {
  const Mix mix{.cutmix_alpha = 1, .num_classes = 4};
  for (const Layout layout : {Layout::kNchw, Layout::kNhwc}) {
    const Mixer mixer = *Mixer::make(mix, {.layout = layout}, kSamples);
    for (std::uint64_t position = 0; position < 20; ++position) {
      Whole batch(mixer, 3, 4);
      const MixDraw draw = draw_mix(mix, kExtent, at(position));
      const auto before = batch.images;
      const auto labels = blended(batch.labels, 3, draw.lambda);
      batch.mix(mixer, position);
      EXPECT_EQ(batch.labels, labels);
      for (std::size_t i = 0; i < before.size(); ++i) {
        const std::size_t in_row = i % kPixels;
        const auto pixel = static_cast<std::int32_t>(layout == Layout::kNchw ? in_row % 35 : in_row / 3);
        const std::int32_t y = pixel / 7 - draw.box.top;
        const std::int32_t x = pixel % 7 - draw.box.left;
        const bool inside = y >= 0 && y < draw.box.height && x >= 0 && x < draw.box.width;
        ASSERT_EQ(batch.images[i], before[inside ? (i + 2 * kPixels) % before.size() : i]);
      }
    }
  }
}

TEST(Mixer, LongRowsGoByInParts) {
  const PictureSpec in{.channels = 3, .extent = {61, 67}, .fixed = true};
  const Mix mix{.mixup_alpha = 1, .num_classes = 5000};
  const Mixer mixer = *Mixer::make(mix, {}, in);
  std::vector<float> images(4 * 3 * 61 * 67);
  for (std::size_t i = 0; i < images.size(); ++i) images[i] = static_cast<float>(i % 977) * 0.37F;
  std::vector<float> labels(4 * 5000);
  for (std::int64_t row = 0; row < 4; ++row) {
    mixer.write_label(4999 - row, reinterpret_cast<std::byte*>(labels.data() + row * 5000));
  }
  const double lambda = draw_mix(mix, in.extent, at(0)).lambda;
  const auto expected_images = blended(images, 4, lambda);
  const auto expected_labels = blended(labels, 4, lambda);
  mixer.run(reinterpret_cast<std::byte*>(images.data()), reinterpret_cast<std::byte*>(labels.data()), 4, at(0));
  EXPECT_EQ(images, expected_images);
  EXPECT_EQ(labels, expected_labels);
}

TEST(Mixer, LeavesABatchAloneThatIsNotDrawnOrEmpty) {
  const Mixer never = *Mixer::make({.mixup_alpha = 1, .p = 0, .num_classes = 2}, {}, kSamples);
  Whole batch(never, 3, 2);
  const auto images = batch.images;
  const auto labels = batch.labels;
  batch.mix(never, 0);
  EXPECT_EQ(batch.images, images);
  EXPECT_EQ(batch.labels, labels);
  const Mixer always = *Mixer::make({.mixup_alpha = 1, .num_classes = 2}, {}, kSamples);
  always.run(nullptr, nullptr, 0, at(0));
}

TEST(Mixer, NamesTheLabelThatIsNoClass) {
  const Mixer mixer = *Mixer::make({.mixup_alpha = 1, .num_classes = 2}, {}, kSamples);
  EXPECT_TRUE(mixer.check_labels(std::vector<std::int64_t>{0, 1}).ok());
  EXPECT_THAT(mixer.check_labels(std::vector<std::int64_t>{0, -1}).error().message, HasSubstr("sample 1"));
  EXPECT_THAT(mixer.check_labels(std::vector<std::int64_t>{2, 0}).error().message, HasSubstr("label 2"));
}

}  // namespace
}  // namespace drapps
