#include "drapps/batch/row.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "drapps/augment/picture/testing.h"
#include "drapps/base/exact_math.h"
#include "drapps/base/half.h"

namespace drapps {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::make_sample;

PictureSpec spec(std::int32_t channels, Extent extent) {
  return {.channels = channels, .extent = extent, .fixed = true, .has_mask = true};
}

template <class T>
std::vector<T> write(const TensorFormat& format, const Picture& picture) {
  const auto writer = PictureWriter::make(format, spec(picture.image.channels, picture.extent));
  EXPECT_TRUE(writer.ok()) << writer.error().message;
  std::vector<T> row(writer->bytes() / sizeof(T));
  EXPECT_TRUE(writer->write(picture, reinterpret_cast<std::byte*>(row.data())).ok());
  return row;
}

/// Where element (c, y, x) of a row lies.
std::size_t at(Layout layout, Extent extent, std::int32_t channels, std::int32_t c, std::int32_t y, std::int32_t x) {
  const std::int32_t index =
      layout == Layout::kNchw ? (c * extent.height + y) * extent.width + x : (y * extent.width + x) * channels + c;
  return static_cast<std::size_t>(index);
}

constexpr std::array<Layout, 2> kLayouts{Layout::kNchw, Layout::kNhwc};
constexpr Extent kPicture{13, 37};

TEST(TensorFormat, RefusesCombinationsWithoutMeaning) {
  const std::pair<TensorFormat, const char*> cases[] = {
      {{.dtype = Dtype::kUint8}, "not uint8"},
      {{.dtype = Dtype::kInt64, .scale = false, .mean = {0.5F}, .std = {0.5F}}, "not int64"},
      {{.mean = {0.5F}}, "mean has 1 numbers and std 0"},
      {{.scale = false, .mean = {0.5F}, .std = {0.5F}}, "need scale"},
      {{.mean = {0.5F, 0.5F}, .std = {0.5F, 0.0F}}, "channel 1"},
      {{.table = std::vector<float>(256)}, "without scale"},
      {{.scale = false, .table = std::vector<float>(255)}, "255 numbers"},
      {{.dtype = Dtype::kUint8, .scale = false, .table = std::vector<float>(256)}, "not uint8"},
      {{.dtype = Dtype::kInt16, .scale = false}, "not int16; ask for float32"},
      {{.dtype = Dtype::kFloat64}, "not float64; ask for float32"},
  };
  for (const auto& [format, message] : cases) {
    const Status status = format.check();
    ASSERT_FALSE(status.ok()) << message;
    EXPECT_THAT(status.error().message, HasSubstr(message));
    EXPECT_FALSE(PictureWriter::make(format, spec(3, kPicture)).ok());
  }
}

TEST(TensorFormat, InfersTheShapeOfARow) {
  EXPECT_THAT(TensorFormat{}.infer(spec(3, {4, 5})).value(), ElementsAre(3, 4, 5));
  EXPECT_THAT(TensorFormat{.layout = Layout::kNhwc}.infer(spec(3, {4, 5})).value(), ElementsAre(4, 5, 3));
  const auto varying = TensorFormat{}.infer({.extent = {4, 5}});
  ASSERT_FALSE(varying.ok());
  EXPECT_THAT(varying.error().message, HasSubstr("end with an op that gives one size"));
  EXPECT_FALSE((TensorFormat{.mean = {1, 2}, .std = {1, 2}}.infer(spec(3, {4, 5})).ok()));
}

TEST(PictureWriter, NormalizesEachChannelInEitherLayout) {
  const std::vector<float> mean{0.485F, 0.456F, 0.406F};
  const std::vector<float> std{0.229F, 0.224F, 0.225F};
  const auto owned = make_sample(1, 3, kPicture);
  for (const Layout layout : kLayouts) {
    const auto row = write<float>({.layout = layout, .mean = mean, .std = std}, owned->picture);
    const auto unit = write<float>({.layout = layout}, owned->picture);
    const auto raw = write<std::uint8_t>({.dtype = Dtype::kUint8, .layout = layout, .scale = false}, owned->picture);
    const auto one = write<float>({.layout = layout, .mean = {0.5F}, .std = {0.25F}}, owned->picture);
    for (std::int32_t c = 0; c < 3; ++c) {
      for (std::int32_t y = 0; y < kPicture.height; ++y) {
        for (std::int32_t x = 0; x < kPicture.width; ++x) {
          const std::size_t i = at(layout, kPicture, 3, c, y, x);
          const std::uint8_t level = owned->picture.image.row(c, y)[x];
          const float scaled = static_cast<float>(level) / 255.0F;
          const auto channel = static_cast<std::size_t>(c);
          ASSERT_EQ(raw[i], level);
          ASSERT_EQ(unit[i], scaled);
          ASSERT_EQ(row[i], (scaled - mean[channel]) / std[channel]);
          ASSERT_EQ(one[i], (scaled - 0.5F) / 0.25F);
        }
      }
    }
  }
}

TEST(PictureWriter, LooksValuesUpInATable) {
  std::vector<float> table(std::size_t{2} * 256);
  for (std::size_t i = 0; i < table.size(); ++i) table[i] = 1000.0F - static_cast<float>(i * i);
  const auto owned = make_sample(1, 2, kPicture);
  for (const Layout layout : kLayouts) {
    const auto row = write<float>({.layout = layout, .scale = false, .table = table}, owned->picture);
    for (std::int32_t c = 0; c < 2; ++c) {
      for (std::int32_t y = 0; y < kPicture.height; ++y) {
        for (std::int32_t x = 0; x < kPicture.width; ++x) {
          const std::size_t level = owned->picture.image.row(c, y)[x];
          ASSERT_EQ(row[at(layout, kPicture, 2, c, y, x)], table[256 * static_cast<std::size_t>(c) + level]);
        }
      }
    }
  }
  EXPECT_FALSE((TensorFormat{.scale = false, .table = table}.infer(spec(3, kPicture)).ok()));
}

TEST(PictureWriter, ErasesAfterNormalizingAndNothingElse) {
  const Rect first{2, 3, 5, 7};
  const Rect second{4, 5, 2, 20};
  for (const Layout layout : kLayouts) {
    for (const auto fill : {EraseMode::kConstant, EraseMode::kNormalPerChannel, EraseMode::kNormalPerPixel}) {
      auto owned = make_sample(1, 3, kPicture);
      const auto clean = write<float>({.layout = layout}, owned->picture);
      owned->picture.erasures = {{.rect = first, .fill = fill, .value = {7, 8, 9}, .key = 5},
                                 {.rect = second, .fill = fill, .value = {-1, -2, -3}, .key = 6}};
      const auto row = write<float>({.layout = layout}, owned->picture);
      for (std::int32_t c = 0; c < 3; ++c) {
        for (std::int32_t y = 0; y < kPicture.height; ++y) {
          for (std::int32_t x = 0; x < kPicture.width; ++x) {
            const std::size_t i = at(layout, kPicture, 3, c, y, x);
            float expected = clean[i];
            for (const Erasure& erasure : owned->picture.erasures) {
              if (!geometry::contains(erasure.rect, {y, x, 1, 1})) continue;
              const bool per_pixel = fill == EraseMode::kNormalPerPixel;
              Draws draws({.seed = erasure.key,
                           .epoch = per_pixel ? static_cast<std::uint32_t>(y - erasure.rect.top) : 0,
                           .position = static_cast<std::uint64_t>(c)},
                          0);
              for (std::int32_t skip = erasure.rect.left; per_pixel && skip < x; ++skip) (void)draws.u32();
              expected = fill == EraseMode::kConstant ? erasure.value[static_cast<std::size_t>(c)]
                                                      : static_cast<float>(exact::normal(draws.u32()));
            }
            ASSERT_EQ(row[i], expected) << c << ", " << y << ", " << x;
          }
        }
      }
    }
  }
}

TEST(PictureWriter, ErasesInTheRowsOwnUnits) {
  auto owned = make_sample(1, 3, kPicture);
  owned->picture.erasures = {{.rect = {0, 0, 1, 1}, .value = {2.5F, 300.0F, -4.0F}}};
  const auto bytes = write<std::uint8_t>({.dtype = Dtype::kUint8, .scale = false}, owned->picture);
  EXPECT_EQ(bytes[0], 2);
  EXPECT_EQ(bytes[13 * 37], 255);
  EXPECT_EQ(bytes[2 * 13 * 37], 0);
  owned->picture.erasures[0].value = {1.00390625F, 1.01171875F, 0.1F};  // two halves between bfloat16 neighbours
  const auto halves = write<std::uint16_t>({.dtype = Dtype::kBfloat16}, owned->picture);
  EXPECT_EQ(halves[0], 0x3F80);
  EXPECT_EQ(halves[13 * 37], 0x3F82);
  EXPECT_EQ(halves[2 * 13 * 37], 0x3DCD);
  owned->picture.erasures[0].value = {1.00048828125F, 1.00146484375F, 0.1F};  // the same of float16
  const auto others = write<std::uint16_t>({.dtype = Dtype::kFloat16}, owned->picture);
  EXPECT_EQ(others[0], 0x3C00);
  EXPECT_EQ(others[13 * 37], 0x3C02);
  EXPECT_EQ(others[2 * 13 * 37], 0x2E66);
}

TEST(PictureWriter, WritesFloat16WithAndWithoutScaling) {
  const auto owned = make_sample(1, 3, kPicture);
  for (const Layout layout : kLayouts) {
    for (const bool scale : {false, true}) {
      const auto floats = write<float>({.layout = layout, .scale = scale}, owned->picture);
      const auto halves =
          write<std::uint16_t>({.dtype = Dtype::kFloat16, .layout = layout, .scale = scale}, owned->picture);
      for (std::size_t i = 0; i < floats.size(); ++i) ASSERT_EQ(halves[i], to_float16(floats[i]));
    }
  }
}

TEST(PictureWriter, RefusesOtherSizesAndChannels) {
  const auto writer = PictureWriter::make({}, spec(3, kPicture));
  std::vector<std::byte> row(writer->bytes());
  for (const auto& [channels, extent] : {std::pair(3, Extent{13, 36}), {3, Extent{12, 37}}, {1, kPicture}}) {
    const auto owned = make_sample(1, channels, extent);
    const Status status = writer->write(owned->picture, row.data());
    ASSERT_FALSE(status.ok());
    EXPECT_EQ(status.error().stage, Stage::kBatch);
    EXPECT_THAT(status.error().message, HasSubstr("does not fit a row of 13 x 37 in 3;"));
  }
}

TEST(MaskWriter, WritesClassIdsInAnyIntegerType) {
  const auto owned = make_sample(1, 3, kPicture);
  const auto expected = testing::pixels(*owned->picture.mask);
  const auto narrow = MaskWriter::make(Dtype::kUint8, spec(3, kPicture));
  const auto wide = MaskWriter::make(Dtype::kInt64, spec(3, kPicture));
  std::vector<std::uint8_t> bytes(narrow->bytes());
  std::vector<std::int64_t> words(wide->bytes() / 8);
  ASSERT_TRUE(narrow->write(owned->picture, reinterpret_cast<std::byte*>(bytes.data())).ok());
  ASSERT_TRUE(wide->write(owned->picture, reinterpret_cast<std::byte*>(words.data())).ok());
  EXPECT_EQ(bytes, expected);
  EXPECT_EQ(words, std::vector<std::int64_t>(expected.begin(), expected.end()));
}

TEST(MaskWriter, RefusesFloatsVaryingSizesAndMissingMasks) {
  for (const Dtype dtype : {Dtype::kFloat32, Dtype::kFloat16, Dtype::kInt16}) {
    EXPECT_FALSE(MaskWriter::make(dtype, spec(3, kPicture)).ok()) << name_of(dtype);
  }
  EXPECT_FALSE(MaskWriter::make(Dtype::kInt64, {.extent = kPicture, .has_mask = true}).ok());
  const auto writer = MaskWriter::make(Dtype::kUint8, spec(3, kPicture));
  std::vector<std::byte> row(writer->bytes());
  auto owned = make_sample(1, 3, kPicture);
  owned->picture.mask.reset();
  const Status missing = writer->write(owned->picture, row.data());
  ASSERT_FALSE(missing.ok());
  EXPECT_THAT(missing.error().message, HasSubstr("no mask"));
  auto small = make_sample(1, 3, {3, 3});
  EXPECT_FALSE(writer->write(small->picture, row.data()).ok());
}

TEST(WriteBoxes, PadsWithZerosAndCountsThem) {
  Picture picture;
  picture.boxes = {{1, 2, 3, 4}, {5, 6, 7, 8.5F}};
  picture.box_rows = {2, 0};
  std::vector<float> row(12, 99.0F);
  EXPECT_EQ(write_boxes(picture, row).value(), 2);
  EXPECT_THAT(row, ElementsAre(1, 2, 3, 4, 5, 6, 7, 8.5F, 0, 0, 0, 0));
  std::vector<std::int64_t> labels(3, 99);
  write_box_values(picture, std::vector<std::int64_t>{10, 11, 12}, labels);
  EXPECT_THAT(labels, ElementsAre(12, 10, kNoBox));
}

TEST(WriteBoxes, NamesTheCountAndTheFixWhereTheyDoNotFit) {
  Picture picture;
  picture.boxes.assign(5, Box{0, 0, 1, 1});
  std::vector<float> row(16);
  const auto count = write_boxes(picture, row);
  ASSERT_FALSE(count.ok());
  EXPECT_EQ(count.error().code, ErrorCode::kTooLarge);
  EXPECT_THAT(count.error().message, HasSubstr("has 5 boxes and a row holds 4; raise max_boxes to at least 5"));
}

}  // namespace
}  // namespace drapps
