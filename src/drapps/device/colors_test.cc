// Changes of colours as the kernels make them of a pixel, against those of the CPU path.
#include "drapps/device/kernel/colors.h"

#include <gtest/gtest.h>

#include "drapps/data/image.h"
#include "drapps/kernel/color.h"

namespace drapps::device {
namespace {

TEST(PixelColors, AreThoseOfTheCpu) {
  constexpr std::int32_t kStep = 5;
  ImageBuffer in(MemoryLedger::unlimited()), out(MemoryLedger::unlimited());
  constexpr std::int32_t kSide = 256 / kStep + 1;
  const ImageView colors = in.reshape(3, kSide * kSide, kSide).value();
  for (std::int32_t y = 0; y < colors.height; ++y) {
    for (std::int32_t x = 0; x < colors.width; ++x) {
      colors.row(0, y)[x] = static_cast<std::uint8_t>(y / kSide * kStep);
      colors.row(1, y)[x] = static_cast<std::uint8_t>(y % kSide * kStep);
      colors.row(2, y)[x] = static_cast<std::uint8_t>(x * kStep);
    }
  }
  const ImageView target = out.reshape(3, colors.height, colors.width).value();
  const auto compare = [&](const PictureColor& color) {
    std::size_t wrong = 0;
    for (std::int32_t y = 0; y < colors.height; ++y) {
      for (std::int32_t x = 0; x < colors.width; ++x) {
        Pixel pixel{.levels = {colors.row(0, y)[x], colors.row(1, y)[x], colors.row(2, y)[x]}, .channels = 3};
        change(pixel, color, 0);
        for (std::int32_t c = 0; c < 3; ++c) wrong += pixel.levels[c] == target.row(c, y)[x] ? 0 : 1;
      }
    }
    return wrong;
  };
  for (const float factor : {0.0F, 0.3F, 1.0F, 1.7F, 40.0F}) {
    kernel::adjust_brightness(target, colors, factor, kernel::Level::kPortable);
    EXPECT_EQ(compare({.change = Change::kBrightness, .factor = factor}), 0) << factor;
    kernel::adjust_saturation(target, colors, factor, kernel::Level::kPortable);
    EXPECT_EQ(compare({.change = Change::kSaturation, .factor = factor}), 0) << factor;
  }
  for (const double shift : {-0.5, -0.2, 0.0, 0.01, 0.33, 0.5}) {
    kernel::adjust_hue(target, colors, shift, kernel::Level::kPortable);
    EXPECT_EQ(compare({.change = Change::kHue, .number = static_cast<std::int32_t>(shift * 255) & 255}), 0) << shift;
  }
  kernel::grayscale(target, colors, kernel::Level::kPortable);
  EXPECT_EQ(compare({.change = Change::kGrayscale, .number = 3}), 0);
}

}  // namespace
}  // namespace drapps::device
