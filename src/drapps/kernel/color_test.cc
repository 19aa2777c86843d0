#include "drapps/kernel/color.h"

#include <gtest/gtest.h>

#include "drapps/kernel/planes.h"
#include "drapps/kernel/test_picture.h"

namespace drapps::kernel {
namespace {

template <class Adjust>
void expect_same_on_every_level(Adjust adjust) {
  for (const std::int32_t width : {1, 63, 300, 517}) {
    TestPicture in(3, 5, width), expected(3, 5, width);
    in.randomize(static_cast<std::uint32_t>(width));
    adjust(expected.view(), in.view(), Level::kPortable);
    EXPECT_FALSE(expected == in);
    for (const Level level : supported_levels()) {
      TestPicture out(3, 5, width), in_place(3, 5, width);
      adjust(out.view(), in.view(), level);
      EXPECT_TRUE(out == expected) << name_of(level) << ' ' << width;
      copy(in_place.view(), in.view());
      adjust(in_place.view(), in_place.view(), level);
      EXPECT_TRUE(in_place == expected) << name_of(level) << " in place";
    }
  }
}

TEST(Color, EveryLevelGivesTheReferencesBytes) {
  for (const float factor : {0.3F, 1.7F}) {
    expect_same_on_every_level([=](auto o, auto i, Level l) { adjust_brightness(o, i, factor, l); });
    expect_same_on_every_level([=](auto o, auto i, Level l) { adjust_contrast(o, i, factor, l); });
    expect_same_on_every_level([=](auto o, auto i, Level l) { adjust_saturation(o, i, factor, l); });
  }
  for (const double shift : {-0.5, 0.13}) {
    expect_same_on_every_level([=](auto o, auto i, Level l) { adjust_hue(o, i, shift, l); });
  }
  expect_same_on_every_level([](auto o, auto i, Level l) { grayscale(o, i, l); });
}

TEST(Color, AFactorOfOneCopies) {
  TestPicture in(3, 9, 70), out(3, 9, 70);
  in.randomize(2);
  adjust_brightness(out.view(), in.view(), 1.0F);
  EXPECT_TRUE(out == in);
  adjust_contrast(out.view(), in.view(), 1.0F);
  EXPECT_TRUE(out == in);
  adjust_saturation(out.view(), in.view(), 1.0F);
  EXPECT_TRUE(out == in);
}

TEST(Color, ThirdOfATurnMakesRedGreen) {
  TestPicture in(3, 1, 1), out(3, 1, 1);
  in.view().row(0, 0)[0] = 255;
  in.view().row(1, 0)[0] = in.view().row(2, 0)[0] = 0;
  adjust_hue(out.view(), in.view(), 1.0 / 3.0);
  EXPECT_EQ(out.view().row(0, 0)[0], 0);
  EXPECT_EQ(out.view().row(1, 0)[0], 255);
  EXPECT_EQ(out.view().row(2, 0)[0], 0);
}

TEST(Color, ContrastMeanRoundsHalfUp) {
  TestPicture in(1, 1, 2);
  in.view().row(0, 0)[0] = 10;
  in.view().row(0, 0)[1] = 11;
  EXPECT_EQ(contrast_mean(in.view()), 11);
}

}  // namespace
}  // namespace drapps::kernel
