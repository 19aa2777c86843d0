#include "drapps/kernel/resize.h"

#include <gtest/gtest.h>

#include <array>
#include <initializer_list>
#include <vector>

#include "drapps/kernel/planes.h"
#include "drapps/kernel/test_picture.h"

namespace drapps::kernel {
namespace {

struct Sizes {
  std::int32_t h, w, out_h, out_w;
};

// One pixel, one row, one column, primes, both directions, unchanged sides, and every way of reading the
// source: one window, two, windows of lanes from one load and from several, long taps.
constexpr std::array kSizes{
    Sizes{1, 1, 1, 1},       Sizes{1, 1, 9, 17},      Sizes{1, 83, 1, 29},      Sizes{83, 1, 29, 1},
    Sizes{2, 3, 67, 131},    Sizes{31, 37, 53, 41},   Sizes{53, 41, 31, 37},    Sizes{250, 300, 224, 224},
    Sizes{101, 97, 101, 31}, Sizes{101, 97, 31, 97},  Sizes{64, 64, 64, 64},    Sizes{200, 520, 20, 100},
    Sizes{97, 701, 89, 97},  Sizes{701, 97, 97, 89},  Sizes{61, 1000, 59, 113}, Sizes{40, 2003, 7, 11},
    Sizes{2003, 40, 11, 7},  Sizes{19, 640, 5, 1},    Sizes{640, 19, 1, 5},     Sizes{300, 200, 120, 199},
    Sizes{45, 463, 44, 160}, Sizes{45, 600, 44, 160}, Sizes{45, 690, 44, 160},  Sizes{90, 100, 224, 224},
};

struct Way {
  PassOrder order;
  Arithmetic arithmetic;
};

constexpr std::array kWays{Way{PassOrder::kHorizontalFirst, Arithmetic::kPillow},
                           Way{PassOrder::kPillow13, Arithmetic::kPillow},
                           Way{PassOrder::kHorizontalFirst, Arithmetic::kTorch},
                           Way{PassOrder::kHorizontalFirst, Arithmetic::kTorchNoAntialias},
                           Way{PassOrder::kHorizontalFirst, Arithmetic::kTorchFloat}};

TEST(Resize, EveryLevelGivesTheReferencesBytes) {
  for (const Level level : supported_levels()) {
    for (const Sizes& s : kSizes) {
      for (const Filter filter : {Filter::kBilinear, Filter::kBicubic}) {
        for (const Way& way : kWays) {
          TestPicture in(3, s.h, s.w);
          in.randomize(static_cast<std::uint32_t>(s.h * 1000 + s.w));
          TestPicture expected(3, s.out_h, s.out_w), actual(3, s.out_h, s.out_w);
          Resizer reference(MemoryLedger::unlimited(), Level::kPortable), resizer(MemoryLedger::unlimited(), level);
          ASSERT_TRUE(reference.resize(expected.view(), in.view(), filter, way.order, way.arithmetic).ok());
          ASSERT_TRUE(resizer.resize(actual.view(), in.view(), filter, way.order, way.arithmetic).ok());
          EXPECT_TRUE(actual == expected) << name_of(level) << ": " << s.h << " x " << s.w << " to " << s.out_h << " x "
                                          << s.out_w << ", way " << &way - kWays.data();
          EXPECT_TRUE(actual.guards_hold()) << name_of(level);
        }
      }
    }
  }
}

/// What a column of `values` becomes.
std::vector<int> resized_column(std::initializer_list<int> values, std::int32_t size, Arithmetic arithmetic) {
  TestPicture in(1, static_cast<std::int32_t>(values.size()), 1), out(1, size, 1);
  std::int32_t y = 0;
  for (const int value : values) *in.view().row(0, y++) = static_cast<std::uint8_t>(value);
  Resizer resizer(MemoryLedger::unlimited());
  EXPECT_TRUE(resizer.resize(out.view(), in.view(), Filter::kBilinear, PassOrder::kHorizontalFirst, arithmetic).ok());
  std::vector<int> column;
  for (y = 0; y < size; ++y) column.push_back(*out.view().row(0, y));
  return column;
}

TEST(Resize, TorchsWeightsHaveAsManyBitsAsTheLargestLeavesRoomFor) {
  // The largest weight is 3/4, so there are 15 bits. The third output is 5/12 of 200 and 7/12 of 134, which is 161.5:
  // (13653 * 200 + 19115 * 134 + 2^14) >> 15 is 161, and Pillow's 22 bits round up.
  EXPECT_EQ(resized_column({190, 49, 200, 134, 192}, 4, Arithmetic::kTorch), (std::vector{155, 112, 161, 178}));
  EXPECT_EQ(resized_column({190, 49, 200, 134, 192}, 4, Arithmetic::kPillow), (std::vector{155, 112, 162, 178}));
}

TEST(Resize, WithoutAntialiasingTwoPixelsMakeOne) {
  EXPECT_EQ(resized_column({0, 10, 20, 30, 255, 255, 0, 0}, 2, Arithmetic::kTorchNoAntialias), (std::vector{15, 128}));
  EXPECT_EQ(resized_column({200}, 3, Arithmetic::kTorchNoAntialias), (std::vector{200, 200, 200}));
}

TEST(Resize, AFlatPictureStaysFlat) {
  for (const Level level : supported_levels()) {
    TestPicture in(1, 75, 81), out(1, 50, 97);
    for (std::int32_t y = 0; y < 75; ++y) std::memset(in.view().row(0, y), 255, 81);
    Resizer resizer(MemoryLedger::unlimited(), level);
    ASSERT_TRUE(resizer.resize(out.view(), in.view(), Filter::kBicubic, PassOrder::kPillow13).ok());
    for (std::int32_t y = 0; y < 50; ++y) {
      for (std::int32_t x = 0; x < 97; ++x) ASSERT_EQ(out.view().row(0, y)[x], 255);
    }
  }
}

TEST(Resize, TheOrdersDifferOnlyWherePillow13RunsTheVerticalPassFirst) {
  const auto differ = [](const Sizes& s) {
    TestPicture in(1, s.h, s.w), a(1, s.out_h, s.out_w), b(1, s.out_h, s.out_w);
    in.randomize(5);
    Resizer resizer(MemoryLedger::unlimited());
    EXPECT_TRUE(resizer.resize(a.view(), in.view(), Filter::kBilinear, PassOrder::kHorizontalFirst).ok());
    EXPECT_TRUE(resizer.resize(b.view(), in.view(), Filter::kBilinear, PassOrder::kPillow13).ok());
    return !(a == b);
  };
  EXPECT_TRUE(differ({300, 250, 224, 224}));   // 2 * 26 < 76
  EXPECT_FALSE(differ({276, 250, 224, 224}));  // 2 * 26 = 52
  EXPECT_FALSE(differ({100, 50, 224, 224}));   // does not shrink
}

/// Which part of a picture, to which size.
struct Boxed {
  std::array<float, 4> box;
  Extent out;
};

constexpr Extent kWhole{97, 131};
constexpr std::array kBoxes{Boxed{{0, 0, 131, 97}, {40, 30}},          Boxed{{10, 20, 110, 77}, {57, 100}},
                            Boxed{{0.25F, 3.5F, 130.75F, 9}, {90, 9}}, Boxed{{60, 40, 62.5F, 43}, {224, 224}},
                            Boxed{{0, 5, 131, 60}, {20, 131}},         Boxed{{7, 0, 90, 97}, {97, 1}},
                            Boxed{{0, 0, 131, 97}, {97, 131}},         Boxed{{130, 96, 131, 97}, {5, 3}}};

/// Of a box the pixels that are read are enough, and the same come of all of the picture.
TEST(Resize, OfABoxNoMoreIsReadThanItSays) {
  TestPicture in(3, kWhole.height, kWhole.width);
  in.randomize(7);
  for (const Level level : supported_levels()) {
    for (const Boxed& each : kBoxes) {
      for (const Filter filter : {Filter::kBilinear, Filter::kBicubic}) {
        for (const PassOrder order : {PassOrder::kHorizontalFirst, PassOrder::kPillow13}) {
          const ResizeBox box(kWhole, each.box, each.out, filter);
          const Rect read = box.read();
          TestPicture alone(3, read.height, read.width), output(3, each.out.height, each.out.width);
          copy(alone.view(), in.view().crop(read));
          Resizer resizer(MemoryLedger::unlimited(), level), reference(MemoryLedger::unlimited(), Level::kPortable);
          ASSERT_TRUE(resizer.resize(output.view(), alone.view(), filter, order, box).ok());
          TestPicture expected(3, each.out.height, each.out.width);
          ASSERT_TRUE(reference.resize(expected.view(), in.view().crop(read), filter, order, box).ok());
          EXPECT_TRUE(output == expected) << name_of(level);
          EXPECT_TRUE(output.guards_hold());
        }
      }
    }
  }
}

TEST(Resize, ABoxOfAllIsThePictureAndOneOfWholePixelsReadsBesideIt) {
  TestPicture in(1, kWhole.height, kWhole.width), output(1, 40, 30), expected(1, 40, 30);
  in.randomize(8);
  Resizer resizer(MemoryLedger::unlimited());
  const ResizeBox all(kWhole, {0, 0, 131, 97}, {40, 30}, Filter::kBicubic);
  EXPECT_EQ(all.read(), (Rect{0, 0, 97, 131}));
  ASSERT_TRUE(resizer.resize(output.view(), in.view(), Filter::kBicubic, PassOrder::kPillow13, all).ok());
  ASSERT_TRUE(resizer.resize(expected.view(), in.view(), Filter::kBicubic, PassOrder::kPillow13).ok());
  EXPECT_TRUE(output == expected);
  const ResizeBox part(kWhole, {20, 30, 40, 50}, {10, 10}, Filter::kBilinear);
  EXPECT_EQ(part.read(), (Rect{29, 19, 22, 22}));
}

TEST(Resize, AnEmptyPictureIsRefused) {
  TestPicture in(1, 4, 4), out(1, 0, 4);
  Resizer resizer(MemoryLedger::unlimited());
  const Status status = resizer.resize(out.view(), in.view(), Filter::kBilinear, PassOrder::kPillow13);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, ErrorCode::kInvalidArgument);
}

TEST(Resize, MemoryIsChargedOnceAndGivenBack) {
  MemoryLedger ledger;
  Resizer resizer(ledger);
  TestPicture big(3, 301, 403), small(3, 97, 89), out(3, 64, 64);
  ASSERT_TRUE(resizer.resize(out.view(), big.view(), Filter::kBicubic, PassOrder::kHorizontalFirst).ok());
  const std::size_t used = ledger.used();
  EXPECT_GT(used, 0U);
  ASSERT_TRUE(resizer.resize(out.view(), small.view(), Filter::kBicubic, PassOrder::kHorizontalFirst).ok());
  EXPECT_EQ(ledger.used(), used);
  resizer.reset();
  EXPECT_EQ(ledger.used(), 0U);
}

TEST(Resize, ABudgetThatIsTooSmallIsAnError) {
  MemoryLedger ledger(1000);
  Resizer resizer(ledger);
  TestPicture in(1, 50, 50), out(1, 20, 20);
  const Status status = resizer.resize(out.view(), in.view(), Filter::kBilinear, PassOrder::kPillow13);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, ErrorCode::kResourceExhausted);
}

TEST(ResizeNearest, TakesPixelsAsTheyAre) {
  TestPicture in(1, 2, 3), out(1, 4, 6);
  for (std::int32_t i = 0; i < 6; ++i) in.view().row(0, i / 3)[i % 3] = static_cast<std::uint8_t>(10 * i);
  resize_nearest(out.view(), in.view());
  for (std::int32_t y = 0; y < 4; ++y) {
    for (std::int32_t x = 0; x < 6; ++x) EXPECT_EQ(out.view().row(0, y)[x], 10 * (3 * (y / 2) + x / 2));
  }
  EXPECT_TRUE(out.guards_hold());
}

TEST(ResizeNearest, TorchTakesThePixelOfTheUpperLeftCorner) {
  TestPicture in(1, 1, 5), out(1, 1, 3);
  for (std::int32_t i = 0; i < 5; ++i) in.view().row(0, 0)[i] = static_cast<std::uint8_t>(i);
  resize_nearest(out.view(), in.view(), Nearest::kTorch);  // 0, 1.67, 3.33
  EXPECT_EQ(out.view().row(0, 0)[0], 0);
  EXPECT_EQ(out.view().row(0, 0)[1], 1);
  EXPECT_EQ(out.view().row(0, 0)[2], 3);
  resize_nearest(out.view(), in.view());  // 0.83, 2.5, 4.17
  EXPECT_EQ(out.view().row(0, 0)[1], 2);
  EXPECT_EQ(out.view().row(0, 0)[2], 4);
  EXPECT_TRUE(out.guards_hold());
}

}  // namespace
}  // namespace drapps::kernel
