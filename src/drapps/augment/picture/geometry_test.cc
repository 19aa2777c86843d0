#include "drapps/augment/picture/geometry.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <vector>

namespace drapps::geometry {
namespace {

struct ResizedCase {
  Extent whole;
  std::int32_t short_side;
  std::int32_t max_size;
  Extent target;
};

// Computed by torchvision 0.28's functional._compute_resized_output_size.
constexpr ResizedCase kResized[] = {
    {{500, 375}, 256, 0, {341, 256}},
    {{500, 375}, 224, 0, {298, 224}},
    {{500, 375}, 256, 300, {300, 225}},
    {{500, 375}, 1, 0, {1, 1}},
    {{500, 375}, 800, 1333, {1066, 800}},
    {{500, 375}, 97, 98, {98, 73}},
    {{375, 500}, 256, 0, {256, 341}},
    {{375, 500}, 224, 0, {224, 298}},
    {{375, 500}, 256, 300, {225, 300}},
    {{375, 500}, 1, 0, {1, 1}},
    {{375, 500}, 800, 1333, {800, 1066}},
    {{375, 500}, 97, 98, {73, 98}},
    {{1, 1}, 256, 0, {256, 256}},
    {{1, 1}, 224, 0, {224, 224}},
    {{1, 1}, 256, 300, {256, 256}},
    {{1, 1}, 1, 0, {1, 1}},
    {{1, 1}, 800, 1333, {800, 800}},
    {{1, 1}, 97, 98, {97, 97}},
    {{1, 97}, 256, 0, {256, 24832}},
    {{1, 97}, 224, 0, {224, 21728}},
    {{1, 97}, 256, 300, {3, 300}},
    {{1, 97}, 1, 0, {1, 97}},
    {{1, 97}, 800, 1333, {13, 1333}},
    {{1, 97}, 97, 98, {1, 98}},
    {{97, 1}, 256, 0, {24832, 256}},
    {{97, 1}, 224, 0, {21728, 224}},
    {{97, 1}, 256, 300, {300, 3}},
    {{97, 1}, 1, 0, {97, 1}},
    {{97, 1}, 800, 1333, {1333, 13}},
    {{97, 1}, 97, 98, {98, 1}},
    {{480, 640}, 256, 0, {256, 341}},
    {{480, 640}, 224, 0, {224, 298}},
    {{480, 640}, 256, 300, {225, 300}},
    {{480, 640}, 1, 0, {1, 1}},
    {{480, 640}, 800, 1333, {800, 1066}},
    {{480, 640}, 97, 98, {73, 98}},
    {{333, 333}, 256, 0, {256, 256}},
    {{333, 333}, 224, 0, {224, 224}},
    {{333, 333}, 256, 300, {256, 256}},
    {{333, 333}, 1, 0, {1, 1}},
    {{333, 333}, 800, 1333, {800, 800}},
    {{333, 333}, 97, 98, {97, 97}},
    {{1080, 1919}, 256, 0, {256, 454}},
    {{1080, 1919}, 224, 0, {224, 398}},
    {{1080, 1919}, 256, 300, {169, 300}},
    {{1080, 1919}, 1, 0, {1, 1}},
    {{1080, 1919}, 800, 1333, {750, 1333}},
    {{1080, 1919}, 97, 98, {55, 98}},
    {{7, 5}, 256, 0, {358, 256}},
    {{7, 5}, 224, 0, {313, 224}},
    {{7, 5}, 256, 300, {300, 214}},
    {{7, 5}, 1, 0, {1, 1}},
    {{7, 5}, 800, 1333, {1120, 800}},
    {{7, 5}, 97, 98, {98, 70}},
    {{600, 401}, 256, 0, {383, 256}},
    {{600, 401}, 224, 0, {335, 224}},
    {{600, 401}, 256, 300, {300, 200}},
    {{600, 401}, 1, 0, {1, 1}},
    {{600, 401}, 800, 1333, {1197, 800}},
    {{600, 401}, 97, 98, {98, 65}},
    {{37, 4096}, 256, 0, {256, 28339}},
    {{37, 4096}, 224, 0, {224, 24797}},
    {{37, 4096}, 256, 300, {2, 300}},
    {{37, 4096}, 1, 0, {1, 110}},
    {{37, 4096}, 800, 1333, {12, 1333}},
    {{37, 4096}, 97, 98, {0, 98}},
    {{500, 375}, 0, 200, {200, 150}},
    {{375, 500}, 0, 200, {150, 200}},
    {{1, 1}, 0, 200, {200, 200}},
    {{1, 97}, 0, 200, {2, 200}},
    {{97, 1}, 0, 200, {200, 2}},
    {{480, 640}, 0, 200, {150, 200}},
    {{333, 333}, 0, 200, {200, 200}},
    {{1080, 1919}, 0, 200, {112, 200}},
    {{7, 5}, 0, 200, {200, 142}},
    {{600, 401}, 0, 200, {200, 133}},
    {{37, 4096}, 0, 200, {1, 200}},
};

TEST(ResizedExtent, IsTorchvisions) {
  for (const ResizedCase& c : kResized) {
    EXPECT_EQ(resized_extent(c.whole, c.short_side, c.max_size), c.target)
        << c.whole.height << " x " << c.whole.width << " to " << c.short_side << ", " << c.max_size;
  }
}

struct CentralCase {
  Extent whole;
  Extent crop;
  Rect rect;
};

// Read off torchvision 0.28's functional.center_crop of pictures whose pixels hold their own place.
constexpr CentralCase kCentral[] = {
    {{500, 375}, {224, 224}, {138, 76, 224, 224}},
    {{375, 500}, {224, 224}, {76, 138, 224, 224}},
    {{225, 227}, {224, 224}, {0, 2, 224, 224}},
    {{5, 5}, {2, 3}, {2, 1, 2, 3}},
    {{6, 9}, {3, 4}, {2, 2, 3, 4}},
    {{7, 7}, {4, 4}, {2, 2, 4, 4}},
    {{10, 10}, {13, 14}, {-1, -2, 13, 14}},
    {{3, 20}, {8, 7}, {-2, 6, 8, 7}},
    {{20, 3}, {7, 8}, {6, -2, 7, 8}},
    {{224, 224}, {224, 224}, {0, 0, 224, 224}},
    {{100, 301}, {151, 150}, {-25, 76, 151, 150}},
    {{11, 13}, {6, 6}, {2, 4, 6, 6}},
};

TEST(CentralRect, IsTorchvisions) {
  for (const CentralCase& c : kCentral) {
    EXPECT_EQ(central_rect(c.whole, c.crop), c.rect) << c.whole.height << " x " << c.whole.width;
  }
}

TEST(CentralRect, RoundedDownIsTensorflows) {
  // Read off tf.image.resize_with_crop_or_pad (2.21) in the same way.
  constexpr CentralCase kDown[] = {
      {{225, 227}, {224, 224}, {0, 1, 224, 224}},
      {{5, 5}, {2, 3}, {1, 1, 2, 3}},
      {{7, 7}, {4, 4}, {1, 1, 4, 4}},
      {{10, 10}, {13, 14}, {-1, -2, 13, 14}},
      {{3, 20}, {8, 7}, {-2, 6, 8, 7}},
      {{100, 301}, {151, 150}, {-25, 75, 151, 150}},
  };
  for (const CentralCase& c : kDown) {
    EXPECT_EQ(central_rect(c.whole, c.crop, Rounding::kDown), c.rect) << c.whole.height << " x " << c.whole.width;
  }
}

TEST(RoundHalfEven, TakesHalvesToTheEvenNeighbour) {
  EXPECT_EQ(round_half_even(0.5), 0);
  EXPECT_EQ(round_half_even(1.5), 2);
  EXPECT_EQ(round_half_even(2.5), 2);
  EXPECT_EQ(round_half_even(2.4999), 2);
  EXPECT_EQ(round_half_even(2.5001), 3);
}

TEST(Intersection, IsWhatBothContain) {
  EXPECT_EQ(intersection({0, 0, 10, 10}, {5, -3, 10, 6}), (Rect{5, 0, 5, 3}));
  EXPECT_EQ(intersection({0, 0, 10, 10}, {10, 0, 5, 5}).height, 0);
  EXPECT_EQ(intersection({0, 0, 10, 10}, {0, 12, 5, 5}).width, 0);
}

/// RandomResizedCrop.get_params of torchvision, line by line, with libm's functions and these draws.
Rect torchvision_crop(Extent whole, const Range& scale, const Range& ratio, Draws& draws) {
  const double area = static_cast<double>(whole.height) * whole.width;
  for (int attempt = 0; attempt < 10; ++attempt) {
    const double target_area = area * draws.uniform(scale[0], scale[1]);
    const double aspect_ratio = std::exp(draws.uniform(std::log(ratio[0]), std::log(ratio[1])));
    const auto w = static_cast<std::int32_t>(std::nearbyint(std::sqrt(target_area * aspect_ratio)));
    const auto h = static_cast<std::int32_t>(std::nearbyint(std::sqrt(target_area / aspect_ratio)));
    if (0 < w && w <= whole.width && 0 < h && h <= whole.height) {
      const auto i = static_cast<std::int32_t>(draws.below(static_cast<std::uint32_t>(whole.height - h + 1)));
      const auto j = static_cast<std::int32_t>(draws.below(static_cast<std::uint32_t>(whole.width - w + 1)));
      return {i, j, h, w};
    }
  }
  const double in_ratio = static_cast<double>(whole.width) / whole.height;
  std::int32_t w = whole.width;
  std::int32_t h = whole.height;
  if (in_ratio < ratio[0]) {
    h = static_cast<std::int32_t>(std::nearbyint(w / ratio[0]));
  } else if (in_ratio > ratio[1]) {
    w = static_cast<std::int32_t>(std::nearbyint(h * ratio[1]));
  }
  return {(whole.height - h) / 2, (whole.width - w) / 2, h, w};
}

TEST(TorchResizedRect, LiesWithinThePicture) {
  TorchState state{};
  state.left = 1;
  for (std::size_t i = 0; i < kMersenneWords; ++i) state.words[i] = mersenne_state(3)[i];
  TorchNumbers numbers(state, true);
  const Range scale{0.08, 1.0}, ratio{3.0 / 4, 4.0 / 3};
  const Range logarithms{std::log(ratio[0]), std::log(ratio[1])};
  int count = 0;
  for (int i = 0; i < 4000; ++i) {
    const Extent whole{1 + i % 500, 1 + i % 377};
    const auto rect = torch_resized_rect(whole, scale, logarithms, ratio, numbers);
    if (!rect) continue;
    ++count;
    ASSERT_TRUE(contains(whole_rect(whole), *rect));
    ASSERT_GT(std::min(rect->height, rect->width), 0);
  }
  EXPECT_GT(count, 3900);
}

TEST(TorchResizedRect, IsNothingWhereTorchvisionsIsEmpty) {
  TorchState state{};
  state.left = 1;
  TorchNumbers numbers(state, true);
  const Range ratio{7.0, 9.0}, logarithms{std::log(7.0), std::log(9.0)};
  EXPECT_EQ(torch_resized_rect({90, 1}, {0.08, 1.0}, logarithms, ratio, numbers), std::nullopt);
}

TEST(RandomResizedRect, FollowsTorchvisionsAlgorithm) {
  constexpr std::array<Extent, 7> kExtents{Extent{375, 500}, {500, 375}, {60, 500},   {500, 31},
                                           {7, 5},           {1, 1},     {4000, 3000}};
  constexpr std::array<std::pair<Range, Range>, 3> kRanges{
      std::pair<Range, Range>{{0.08, 1.0}, {3.0 / 4, 4.0 / 3}}, {{0.9, 1.0}, {0.2, 5.0}}, {{0.0, 0.01}, {1.0, 1.0}}};
  std::size_t different = 0;
  for (std::uint64_t position = 0; position < 30000; ++position) {
    const Extent whole = kExtents[position % kExtents.size()];
    const auto& [scale, ratio] = kRanges[position / 7 % kRanges.size()];
    Draws ours({.seed = 1, .position = position}, 4);
    Draws theirs = ours;
    const Rect rect = random_resized_rect(whole, scale, ratio, ours);
    ASSERT_TRUE(contains(whole_rect(whole), rect));
    if (rect != torchvision_crop(whole, scale, ratio, theirs)) ++different;
    EXPECT_EQ(ours.u32(), theirs.u32());  // as many draws
  }
  EXPECT_LE(different, 1u);  // libm may differ in the last bit
}

TEST(RandomResizedRect, FallsBackToACentralCropOfTheNearestRatio) {
  Draws draws({.seed = 1}, 1);
  EXPECT_EQ(random_resized_rect({100, 1000}, {1, 1}, {0.75, 4.0 / 3}, draws), (Rect{0, 433, 100, 133}));
  EXPECT_EQ(random_resized_rect({1000, 100}, {1, 1}, {0.75, 4.0 / 3}, draws), (Rect{433, 0, 133, 100}));
  EXPECT_EQ(random_resized_rect({90, 100}, {2, 2}, {0.75, 4.0 / 3}, draws), (Rect{0, 0, 90, 100}));
  EXPECT_EQ(random_resized_rect({1, 1}, {1, 1}, {3, 4}, draws), (Rect{0, 0, 1, 1}));
}

/// Mean and standard deviation of top, left, height, width and area.
struct Moments {
  std::array<double, 5> mean{};
  std::array<double, 5> deviation{};
};

template <class Draw>
Moments moments_of(int count, Draw draw) {
  Moments m;
  for (int n = 0; n < count; ++n) {
    const Rect r = draw(static_cast<std::uint64_t>(n));
    const std::array<double, 5> x{static_cast<double>(r.top), static_cast<double>(r.left),
                                  static_cast<double>(r.height), static_cast<double>(r.width),
                                  static_cast<double>(r.height) * r.width};
    for (std::size_t i = 0; i < 5; ++i) {
      m.mean[i] += x[i] / count;
      m.deviation[i] += x[i] * x[i] / count;
    }
  }
  for (std::size_t i = 0; i < 5; ++i) m.deviation[i] = std::sqrt(m.deviation[i] - m.mean[i] * m.mean[i]);
  return m;
}

// `expected` was measured on 150,000 draws of torchvision 0.28's get_params.
void expect_moments(const Moments& ours, const Moments& expected) {
  constexpr int kCount = 150000;
  for (std::size_t i = 0; i < 5; ++i) {
    const double error = expected.deviation[i] * std::sqrt(2.0 / kCount);
    EXPECT_NEAR(ours.mean[i], expected.mean[i], 4 * error) << i;
    EXPECT_NEAR(ours.deviation[i], expected.deviation[i], 8 * error) << i;
  }
}

TEST(RandomResizedRect, HasTorchvisionsMoments) {
  const auto crop = [](Extent whole) {
    return [whole](std::uint64_t position) {
      Draws draws({.seed = 3, .position = position}, 1);
      return random_resized_rect(whole, {0.08, 1.0}, {3.0 / 4, 4.0 / 3}, draws);
    };
  };
  expect_moments(moments_of(150000, crop({375, 500})), {{52.25625, 108.85902, 270.31781, 282.04041, 81303.61},
                                                        {50.66609, 80.25254, 70.09834, 86.13891, 40531.86}});
  expect_moments(moments_of(150000, crop({60, 500})), {{1.11487, 214.37133, 57.76332, 71.90865, 4185.4577},
                                                       {2.40069, 79.20434, 3.87814, 11.46269, 855.2181}});
}

TEST(RandomErasedRect, HasTorchvisionsMoments) {
  const auto erasure = [](Extent whole) {
    return [whole](std::uint64_t position) {
      Draws draws({.seed = 3, .position = position}, 1);
      return random_erased_rect(whole, {0.02, 0.33}, {0.3, 3.3}, 1.0, draws).value_or(whole_rect(whole));
    };
  };
  expect_moments(moments_of(150000, erasure({224, 224})), {{64.32931, 64.32501, 95.19679, 95.4745, 8770.7614},
                                                           {45.09593, 45.18619, 43.55012, 43.74886, 4478.4974}});
  expect_moments(moments_of(150000, erasure({20, 90})),
                 {{3.63883, 35.19730, 12.73837, 19.65395, 257.7809}, {3.2498, 21.32213, 3.84298, 9.54873, 154.90097}});
}

TEST(RandomErasedRect, IsSmallerThanThePictureOrNothing) {
  std::size_t nothing = 0;
  for (std::uint64_t position = 0; position < 2000; ++position) {
    Draws draws({.seed = 5, .position = position}, 1);
    const Extent whole{12, 40};
    const auto rect = random_erased_rect(whole, {0.5, 1.0}, {0.3, 3.3}, 1.0, draws);
    if (!rect) {
      ++nothing;
      continue;
    }
    EXPECT_TRUE(contains(whole_rect(whole), *rect));
    EXPECT_LT(rect->height, 12);
    EXPECT_LT(rect->width, 40);
  }
  EXPECT_GT(nothing, 0u);
  EXPECT_LT(nothing, 2000u);
}

TEST(RandomRect, ReachesEveryPlaceEquallyOften) {
  std::array<int, 5 * 3> counts{};
  constexpr int kCount = 30000;
  for (std::uint64_t position = 0; position < kCount; ++position) {
    Draws draws({.seed = 8, .position = position}, 1);
    const Rect rect = random_rect({14, 22}, {10, 20}, draws);
    ++counts[static_cast<std::size_t>(rect.top * 3 + rect.left)];
  }
  double chi2 = 0;
  constexpr double kExpected = kCount / 15.0;
  for (const int count : counts) chi2 += (count - kExpected) * (count - kExpected) / kExpected;
  EXPECT_LT(chi2, 29.1);  // 14 degrees of freedom, 1 %
}

}  // namespace
}  // namespace drapps::geometry
