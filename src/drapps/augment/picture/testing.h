// For the tests of ops and rows: samples made of noise, whole or as a window of themselves, and ops of every kind.
#pragma once

#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

#include "drapps/augment/picture/ops.h"

namespace drapps::testing {

/// A sample and the memory its views lie in.
struct OwnedSample {
  ImageBuffer image{MemoryLedger::unlimited()};
  ImageBuffer mask{MemoryLedger::unlimited()};
  Picture picture;
};

/// The level of a pixel: noise that depends on the seed, the channel and the place in the whole picture.
inline std::uint8_t noise(std::uint64_t seed, std::int32_t channel, std::int32_t y, std::int32_t x) {
  return static_cast<std::uint8_t>(
      philox4x32({static_cast<std::uint32_t>(channel), static_cast<std::uint32_t>(y), static_cast<std::uint32_t>(x), 7},
                 {static_cast<std::uint32_t>(seed), 0})[0] >>
      24);
}

/// A picture of `whole` with a mask and boxes, of which the sample holds `window`. The mask is channel 0 again, so
/// that it can be told whether the two moved alike.
inline std::unique_ptr<OwnedSample> make_sample(std::uint64_t seed, std::int32_t channels, Extent whole,
                                                const Rect& window) {
  auto owned = std::make_unique<OwnedSample>();
  Picture& picture = owned->picture;
  picture.image = owned->image.reshape(channels, window.height, window.width).value();
  picture.mask = owned->mask.reshape(1, window.height, window.width).value();
  for (std::int32_t c = 0; c < channels; ++c) {
    for (std::int32_t y = 0; y < window.height; ++y) {
      for (std::int32_t x = 0; x < window.width; ++x) {
        const std::uint8_t level = noise(seed, c, y + window.top, x + window.left);
        picture.image.row(c, y)[x] = level;
        if (c == 0) picture.mask->row(0, y)[x] = level;
      }
    }
  }
  Draws draws({.seed = seed}, 99);
  for (std::int32_t i = 0; i < 5; ++i) {
    const auto y0 = static_cast<float>(draws.below(static_cast<std::uint32_t>(whole.height)));
    const auto x0 = static_cast<float>(draws.below(static_cast<std::uint32_t>(whole.width)));
    picture.boxes.push_back(
        {x0, y0, x0 + 1 + static_cast<float>(draws.below(40)), y0 + 1 + static_cast<float>(draws.below(40))});
    picture.box_rows.push_back(i);
  }
  picture.extent = whole;
  picture.window = window;
  return owned;
}

inline std::unique_ptr<OwnedSample> make_sample(std::uint64_t seed, std::int32_t channels, Extent whole) {
  return make_sample(seed, channels, whole, geometry::whole_rect(whole));
}

inline std::vector<std::uint8_t> pixels(ConstImageView view) {
  std::vector<std::uint8_t> all;
  for (std::int32_t c = 0; c < view.channels; ++c) {
    for (std::int32_t y = 0; y < view.height; ++y) all.insert(all.end(), view.row(c, y), view.row(c, y) + view.width);
  }
  return all;
}

/// Ops that move pixels, by nearest neighbour where they resize, and with the same levels around picture and mask.
inline std::vector<Op> moving_ops() {
  constexpr auto kNearest = Interpolation::kNearest;
  std::vector<Op> ops{
      RandomResizedCrop{.height = 40, .width = 56, .interpolation = kNearest},
      RandomResizedCrop{.height = 9, .width = 3, .scale = {0.5, 0.9}, .ratio = {0.2, 9.0}, .interpolation = kNearest},
      Resize{.height = 33, .width = 48, .interpolation = kNearest},
      Resize{.short_side = 30, .interpolation = kNearest},
      Resize{.short_side = 30, .max_size = 35, .interpolation = kNearest},
      Resize{.max_size = 64, .interpolation = kNearest},
      Crop{.height = 1, .width = 1},
      CenterCrop{.height = 20, .width = 31},
      CenterCrop{.height = 90, .width = 24},
      CenterCrop{.height = 22, .width = 30, .rounding = geometry::Rounding::kDown},
      CenterCrop{.height = 200, .width = 31, .mode = PadMode::kReflect},
      CenterCrop{.height = 30, .width = 99, .fill = {5}, .mask_fill = 5},
      RandomCrop{.height = 17, .width = 19, .pad_if_needed = true},
      RandomCrop{.height = 60,
                 .width = 70,
                 .pad_left = 3,
                 .pad_bottom = 9,
                 .pad_if_needed = true,
                 .fill = {77},
                 .mask_fill = 77},
      HorizontalFlip{},
      VerticalFlip{},
      ResizeKeepRatio{.height = 30, .width = 20, .longest = 0.3, .interpolation = kNearest},
  };
  for (const PadMode mode : {PadMode::kConstant, PadMode::kEdge, PadMode::kReflect, PadMode::kSymmetric}) {
    ops.emplace_back(Pad{.left = 5, .top = 40, .right = 1, .bottom = 3, .mode = mode, .fill = {9}, .mask_fill = 9});
    ops.emplace_back(RandomCrop{.height = 24,
                                .width = 24,
                                .pad_left = 12,
                                .pad_top = 4,
                                .pad_right = 2,
                                .pad_if_needed = true,
                                .mode = mode,
                                .fill = {3},
                                .mask_fill = 3});
  }
  return ops;
}

/// One or more ops of every kind.
inline std::vector<Op> all_ops() {
  std::vector<Op> ops = moving_ops();
  for (const auto order : {kernel::PassOrder::kHorizontalFirst, kernel::PassOrder::kPillow13}) {
    ops.emplace_back(
        RandomResizedCrop{.height = 40, .width = 40, .interpolation = Interpolation::kRandom, .pass_order = order});
    ops.emplace_back(Resize{.height = 20, .width = 70, .interpolation = Interpolation::kBicubic, .pass_order = order});
    ops.emplace_back(Resize{.short_side = 26, .pass_order = order});
  }
  for (const auto arithmetic : {kernel::Arithmetic::kTorch, kernel::Arithmetic::kTorchNoAntialias}) {
    ops.emplace_back(RandomResizedCrop{
        .height = 40, .width = 40, .interpolation = Interpolation::kRandom, .arithmetic = arithmetic});
    ops.emplace_back(Resize{.short_side = 26, .arithmetic = arithmetic});
    ops.emplace_back(
        RandomResize{.min_size = 9, .max_size = 40, .arithmetic = arithmetic, .mask_nearest = kernel::Nearest::kTorch});
  }
  ops.emplace_back(RandomResizedCrop{.height = 40, .width = 40, .arithmetic = kernel::Arithmetic::kTorchFloat});
  ops.emplace_back(Resize{.short_side = 26, .arithmetic = kernel::Arithmetic::kTorchFloat});
  ops.emplace_back(
      ColorJitter{.brightness = {0.6, 1.4}, .contrast = {0.6, 1.4}, .saturation = {0.0, 2.0}, .hue = {-0.5, 0.5}});
  ops.emplace_back(ColorJitter{.contrast = {0.5, 1.5}});
  ops.emplace_back(Grayscale{.channels = 1});
  ops.emplace_back(Grayscale{.channels = 3});
  ops.emplace_back(RandomGrayscale{.p = 0.5});
  ops.emplace_back(ResizeKeepRatio{
      .height = 30, .width = 20, .scale_p = 0.5, .aspect_p = 0.5, .interpolation = Interpolation::kRandom});
  ops.emplace_back(RandomApply{});
  ops.emplace_back(RandomErasing{.p = 0.7, .mode = EraseMode::kNormalPerPixel, .min_count = 1, .max_count = 3});
  return ops;
}

}  // namespace drapps::testing
