#include "drapps/decode/orient.h"

#include <gtest/gtest.h>

#include <array>
#include <utility>

namespace drapps {
namespace {

constexpr Extent kStored{67, 90};

/// Where EXIF says that pixel (y, x) of the upright picture lies in the stored one.
std::pair<std::int32_t, std::int32_t> source_of(std::uint8_t orientation, std::int32_t y, std::int32_t x) {
  const std::int32_t bottom = kStored.height - 1, right = kStored.width - 1;
  switch (orientation) {
    case 2: return {y, right - x};
    case 3: return {bottom - y, right - x};
    case 4: return {bottom - y, x};
    case 5: return {x, y};
    case 6: return {bottom - x, y};
    case 7: return {bottom - x, right - y};
    case 8: return {x, right - y};
    default: return {y, x};
  }
}

class Orient : public ::testing::TestWithParam<int> {};

TEST_P(Orient, EveryPixelOfEveryRegionComesFromItsPlace) {
  const auto orientation = static_cast<std::uint8_t>(GetParam());
  ImageBuffer stored_buffer(MemoryLedger::unlimited()), out_buffer(MemoryLedger::unlimited());
  const ImageView stored = stored_buffer.reshape(2, kStored.height, kStored.width).value();
  const auto value = [](std::int32_t c, std::int32_t y, std::int32_t x) {
    return static_cast<std::uint8_t>(c * 101 + y * 17 + x * 3 + x * y);
  };
  for (std::int32_t c = 0; c < 2; ++c) {
    for (std::int32_t y = 0; y < kStored.height; ++y) {
      for (std::int32_t x = 0; x < kStored.width; ++x) stored.row(c, y)[x] = value(c, y, x);
    }
  }
  const Extent upright = orientation >= 5 ? Extent{kStored.width, kStored.height} : kStored;
  for (const Rect region :
       {Rect{0, 0, upright.height, upright.width}, Rect{3, 5, 1, 1}, Rect{1, 2, 64, 40}, Rect{60, 0, 5, 67}}) {
    const ImageView out = out_buffer.reshape(2, region.height, region.width).value();
    orient(out, stored.crop(stored_region(region, kStored, orientation)), orientation);
    for (std::int32_t c = 0; c < 2; ++c) {
      for (std::int32_t y = 0; y < region.height; ++y) {
        for (std::int32_t x = 0; x < region.width; ++x) {
          const auto [from_y, from_x] = source_of(orientation, region.top + y, region.left + x);
          ASSERT_EQ(out.row(c, y)[x], value(c, from_y, from_x)) << y << ' ' << x;
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(AllEight, Orient, ::testing::Range(1, 9));

}  // namespace
}  // namespace drapps
