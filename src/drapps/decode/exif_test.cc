#include "drapps/decode/exif.h"

#include <gtest/gtest.h>

#include <initializer_list>
#include <string_view>
#include <vector>

namespace drapps {
namespace {

std::vector<std::uint8_t> bytes_of(std::string_view text) { return {text.begin(), text.end()}; }

using namespace std::string_view_literals;

constexpr std::string_view kLittle = "II*\0\x08\0\0\0\x01\0\x12\x01\x03\0\x01\0\0\0\x06\0\0\0\0\0\0\0"sv;
constexpr std::string_view kBig = "MM\0*\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0\x08\0\0\0\0\0\0"sv;
constexpr std::string_view kLong = "MM\0*\0\0\0\x08\0\x01\x01\x12\0\x04\0\0\0\x01\0\0\0\x03\0\0\0\0"sv;

TEST(ExifOrientation, ReadsBothByteOrdersAndBothIntegerTypes) {
  EXPECT_EQ(exif_orientation(bytes_of(kLittle)), 6u);
  EXPECT_EQ(exif_orientation(bytes_of(kBig)), 8u);
  EXPECT_EQ(exif_orientation(bytes_of(kLong)), 3u);
}

TEST(ExifOrientation, TakesAPrefixOrTwo) {
  const std::string prefix("Exif\0\0", 6);
  EXPECT_EQ(exif_orientation(bytes_of(prefix + std::string(kLittle))), 6u);
  EXPECT_EQ(exif_orientation(bytes_of(prefix + prefix + std::string(kLittle))), 6u);
}

TEST(ExifOrientation, BrokenBlocksHaveNone) {
  for (std::size_t size = 0; size < 22; ++size) EXPECT_EQ(exif_orientation(bytes_of(kLittle.substr(0, size))), 0u);
  std::string far(kLittle);
  far[4] = far[5] = far[6] = far[7] = '\xFF';
  EXPECT_EQ(exif_orientation(bytes_of(far)), 0u);
  std::string two_values(kLittle);
  two_values[14] = 2;
  EXPECT_EQ(exif_orientation(bytes_of(two_values)), 0u);
}

TEST(XmpOrientation, ReadsAttributeAndElement) {
  EXPECT_EQ(xmp_orientation(bytes_of("<a tiff:Orientation=\"7\"/>")), 7u);
  EXPECT_EQ(xmp_orientation(bytes_of("<tiff:Orientation>5</tiff:Orientation>")), 5u);
  EXPECT_EQ(xmp_orientation(bytes_of("tiff:Orientation= tiff:Orientation=\"x tiff:Orientation>2")), 2u);
  EXPECT_EQ(xmp_orientation(bytes_of("tiff:Orientation")), 0u);
  EXPECT_EQ(xmp_orientation(bytes_of("tiff:Orientation=\"")), 0u);
}

TEST(EffectiveOrientation, ExifGoesFirstAndNonsenseMeansUpright) {
  EXPECT_EQ(effective_orientation(6, 3), 6);
  EXPECT_EQ(effective_orientation(0, 3), 3);
  EXPECT_EQ(effective_orientation(9, 3), 1);
  EXPECT_EQ(effective_orientation(0, 0), 1);
}

}  // namespace
}  // namespace drapps
