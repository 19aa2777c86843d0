#include "drapps/modality/pixel_maker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <tuple>
#include <vector>

#include "drapps/decode/jpeg/index_shared.h"
#include "drapps/decode/orient.h"
#include "drapps/decode/testing.h"
#include "drapps/kernel/color.h"

namespace drapps {
namespace {

using testing::Bytes;
using ::testing::ElementsAre;
using testing::encode_jpeg;

constexpr Extent kExtent{61, 83};
constexpr Rect kWhole{0, 0, 61, 83};

std::vector<std::uint8_t> pixels_of(const ImageView& view) {
  std::vector<std::uint8_t> pixels;
  for (std::int32_t c = 0; c < view.channels; ++c) {
    for (std::int32_t y = 0; y < view.height; ++y) {
      pixels.insert(pixels.end(), view.row(c, y), view.row(c, y) + view.width);
    }
  }
  return pixels;
}

/// A file, and its planes.
class PixelMakerTest : public ::testing::TestWithParam<int> {
 protected:
  PixelMakerTest() : file_(encode_jpeg(kExtent, {.channels = GetParam(), .horizontal = 1, .vertical = 1})) {
    from_file_ = {.file = file_, .jpeg = **maker_.judge(file_), .planes = {}, .index = {}};
    const auto options = DecodeOptions{.color = GetParam() == 3 ? ColorMode::kRgb : ColorMode::kGray};
    from_planes_.planes = *decoder_.decode(file_, from_file_.jpeg.info, kWhole, options, planes_);
  }

  Bytes file_;
  PixelMaker maker_{MemoryLedger::unlimited()};
  Decoder decoder_{MemoryLedger::unlimited()};
  ImageBuffer planes_{MemoryLedger::unlimited()};
  PixelSource from_file_, from_planes_;
};

TEST_P(PixelMakerTest, PartsOfFilesAndOfPlanesAreTheSame) {
  for (const Rect& rect : {kWhole, Rect{0, 0, 1, 1}, Rect{17, 30, 25, 41}, Rect{60, 82, 1, 1}}) {
    for (std::uint8_t orientation = 1; orientation <= 8; ++orientation) {
      const bool swapped = orientation >= 5;
      ImageBuffer buffer(MemoryLedger::unlimited());
      const ImageView expected = *buffer.reshape(GetParam(), swapped ? rect.width : rect.height,  //
                                                 swapped ? rect.height : rect.width);
      orient(expected, from_planes_.planes.crop(rect), orientation);
      for (const PixelSource* source : {&from_file_, &from_planes_}) {
        const Result<ImageView> part = maker_.make(*source, {.rect = rect, .orientation = orientation});
        ASSERT_TRUE(part.ok());
        EXPECT_EQ(pixels_of(*part), pixels_of(expected)) << int{orientation};
      }
    }
  }
}

TEST_P(PixelMakerTest, PartsAreTheSameByAnIndexThatIsLearntOfThem) {
  const auto store = *jpeg::SharedIndexStore::make(1 << 16, 0);
  PixelSource source = from_file_;
  source.index = {store.get(), store->key_of(file_)};
  for (const Rect& rect : {Rect{17, 30, 25, 41}, kWhole, Rect{40, 3, 9, 70}}) {
    const Result<ImageView> part = maker_.make(source, {.rect = rect});
    ASSERT_TRUE(part.ok());
    EXPECT_EQ(pixels_of(*part), pixels_of(from_planes_.planes.crop(rect)));
  }
  EXPECT_EQ(store->statistics().hits, 2u);
  EXPECT_EQ(store->statistics().complete, 1u);
}

TEST_P(PixelMakerTest, GrayIsMadeOfColours) {
  ImageBuffer buffer(MemoryLedger::unlimited());
  const ImageView expected = *buffer.reshape(1, kExtent.height, kExtent.width);
  kernel::grayscale(expected, from_planes_.planes);
  for (const PixelSource* source : {&from_file_, &from_planes_}) {
    const Result<ImageView> image = maker_.make(*source, {.rect = kWhole, .gray = true});
    ASSERT_TRUE(image.ok());
    EXPECT_EQ(pixels_of(*image), pixels_of(GetParam() == 3 ? expected : from_planes_.planes));
  }
}

TEST_P(PixelMakerTest, APartIsResizedAsIfItWereAPicture) {
  const Rect rect{11, 7, 40, 60};
  const PixelTarget target{.extent = {19, 72}, .filter = kernel::Filter::kBicubic};
  ImageBuffer buffer(MemoryLedger::unlimited());
  const ImageView expected = *buffer.reshape(GetParam(), 19, 72);
  kernel::Resizer resizer(MemoryLedger::unlimited());
  ASSERT_TRUE(resizer.resize(expected, from_planes_.planes.crop(rect), target.filter, target.order).ok());
  for (const PixelSource* source : {&from_file_, &from_planes_}) {
    const Result<ImageView> output = maker_.resize(*source, {.rect = rect}, target);
    ASSERT_TRUE(output.ok());
    EXPECT_EQ(pixels_of(*output), pixels_of(expected));
  }
}

TEST_P(PixelMakerTest, ABoxIsResizedOfWhatItReads) {
  const kernel::ResizeBox box(kExtent, {11.5F, 7, 60.25F, 50}, {19, 72}, kernel::Filter::kBicubic);
  const PixelTarget target{.extent = {19, 72}, .filter = kernel::Filter::kBicubic, .box = box};
  ImageBuffer buffer(MemoryLedger::unlimited());
  const ImageView expected = *buffer.reshape(GetParam(), 19, 72);
  kernel::Resizer resizer(MemoryLedger::unlimited());
  const ImageView read = from_planes_.planes.crop(box.read());
  ASSERT_TRUE(resizer.resize(expected, read, target.filter, target.order, box).ok());
  for (const PixelSource* source : {&from_file_, &from_planes_}) {
    const Result<ImageView> output = maker_.resize(*source, {.rect = box.read()}, target);
    ASSERT_TRUE(output.ok());
    EXPECT_EQ(pixels_of(*output), pixels_of(expected));
    EXPECT_EQ(maker_.resize(*source, {.rect = kWhole}, target).error().code, ErrorCode::kInvalidArgument);
  }
}

TEST_P(PixelMakerTest, NormalizesAsTorchvisionDoes) {
  const std::vector<float> mean{0.485F, 0.456F, 0.406F}, std{0.229F, 0.224F, 0.225F};
  const auto channels = static_cast<std::size_t>(GetParam());
  const auto means = std::span(mean).first(channels), stds = std::span(std).first(channels);
  const std::vector<std::uint8_t> planes = pixels_of(from_planes_.planes);
  const std::size_t area = planes.size() / channels;
  std::vector<float> scaled(planes.size()), pixels(planes.size()), planar(planes.size());
  scale_bytes(planes, scaled.data());
  ASSERT_TRUE(maker_.normalize(from_planes_.planes, means, stds, Layout::kNhwc, pixels.data()).ok());
  ASSERT_TRUE(maker_.normalize(from_planes_.planes, means, stds, Layout::kNchw, planar.data()).ok());
  for (std::size_t c = 0; c < channels; ++c) {
    for (std::size_t i = 0; i < area; ++i) {
      const auto byte = static_cast<float>(planes[c * area + i]);
      const float x = byte * static_cast<float>(1.0 / 255);
      ASSERT_EQ(scaled[c * area + i], x);
      ASSERT_EQ(pixels[i * channels + c], (x - mean[c]) / std[c]);
      ASSERT_EQ(planar[c * area + i], (byte / 255 - mean[c]) / std[c]);
    }
  }
}

TEST(Separate, PartsTheChannels) {
  const std::array pixels{1.0F, 2.0F, 3.0F, 4.0F, 5.0F, 6.0F};
  std::array<float, 6> out{};
  separate(pixels, out.data());
  EXPECT_THAT(out, ElementsAre(1, 4, 2, 5, 3, 6));
}

TEST_P(PixelMakerTest, NormalizesByOtherNumbersThanBefore) {
  const std::vector<float> numbers{1.0F, 1.0F, 2.0F};
  const auto channels = static_cast<std::size_t>(GetParam());
  const auto means = std::span(numbers).first(channels);
  const float first = static_cast<float>(from_planes_.planes.row(0, 0)[0]) * static_cast<float>(1.0 / 255);
  std::vector<float> output(kExtent.height * kExtent.width * channels);
  const auto normalize = [&](std::span<const float> stds) {
    return maker_.normalize(from_planes_.planes, means, stds, Layout::kNhwc, output.data());
  };
  ASSERT_TRUE(normalize(std::vector(channels, 4.0F)).ok());
  ASSERT_TRUE(normalize(std::vector(channels, 2.0F)).ok());
  EXPECT_EQ(output[0], (first - 1) / 2);
  EXPECT_FALSE(normalize(std::span(numbers).first(2)).ok());
  EXPECT_FALSE(maker_.normalize(from_planes_.planes, {}, {}, Layout::kNhwc, output.data()).ok());
  const ImageView one = {from_planes_.planes.data, 1, 2, 2, from_planes_.planes.row_stride, 0};
  std::array<float, 12> three{};
  const std::array others{0.0F, 0.0F, 1.0F};
  ASSERT_TRUE(maker_.normalize(one, others, numbers, Layout::kNhwc, three.data()).ok());
  EXPECT_EQ(three[0], first);
  EXPECT_EQ(three[1], first);
  EXPECT_EQ(three[2], (first - 1) / 2);
}

TEST_P(PixelMakerTest, RefusesWhatIsNoPart) {
  for (const PixelSource* source : {&from_file_, &from_planes_}) {
    for (const Rect& rect : {Rect{0, 0, 0, 3}, Rect{-1, 0, 2, 2}, Rect{60, 0, 2, 2}, Rect{0, 83, 1, 1}}) {
      EXPECT_EQ(maker_.make(*source, {.rect = rect}).error().code, ErrorCode::kInvalidArgument);
    }
    EXPECT_FALSE(maker_.make(*source, {.rect = kWhole, .orientation = 0}).ok());
    EXPECT_FALSE(maker_.make(*source, {.rect = kWhole, .orientation = 9}).ok());
    EXPECT_FALSE(maker_.resize(*source, {.rect = kWhole}, {.extent = {0, 4}}).ok());
  }
}

INSTANTIATE_TEST_SUITE_P(Channels, PixelMakerTest, ::testing::Values(1, 3));

TEST(PixelMaker, FindsNoOtherFileSound) {
  PixelMaker maker(MemoryLedger::unlimited());
  const Bytes sound = encode_jpeg(kExtent, {.horizontal = 2, .vertical = 2});
  ASSERT_TRUE(maker.judge(sound)->has_value());
  EXPECT_EQ((*maker.judge(sound))->channels, 3);
  EXPECT_FALSE(maker.judge(encode_jpeg(kExtent, {.progressive = true}))->has_value());
  EXPECT_FALSE(maker.judge(encode_jpeg(kExtent, {.channels = 4}))->has_value());
  EXPECT_FALSE(maker.judge({})->has_value());
  for (std::size_t size = 0; size < sound.size(); size += 13) {
    EXPECT_FALSE(maker.judge(std::span(sound).first(size))->has_value()) << size;
  }
}

TEST(PixelMaker, InterleavesPlanesWithAFourthByte) {
  std::vector<std::uint8_t> planes(3 * 64 + kPadding);
  for (std::size_t i = 0; i < planes.size(); ++i) planes[i] = static_cast<std::uint8_t>(i);
  const ImageView view{planes.data(), 3, 1, 2, 64, 64};
  std::array<std::uint8_t, 8> four{};
  interleave(view, 4, 255, four);
  EXPECT_THAT(four, ElementsAre(0, 64, 128, 255, 1, 65, 129, 255));
  std::array<std::uint8_t, 6> three{};
  interleave(view, 3, 0, three);
  EXPECT_THAT(three, ElementsAre(0, 64, 128, 1, 65, 129));
  const ImageView gray{planes.data(), 1, 1, 2, 64, 64};
  interleave(gray, 3, 0, three);
  EXPECT_THAT(three, ElementsAre(0, 0, 0, 1, 1, 1));
  std::array<std::uint8_t, 2> one{};
  interleave(gray, 1, 0, one);
  EXPECT_THAT(one, ElementsAre(0, 1));
}

TEST(PixelMaker, DividesPlanesBy255) {
  std::vector<std::uint8_t> planes(3 * 64 + kPadding);
  for (std::size_t i = 0; i < planes.size(); ++i) planes[i] = static_cast<std::uint8_t>(i);
  std::array<float, 6> floats{};
  const auto part = [](int value) { return static_cast<float>(value) / 255.0F; };
  divide_by_255(ImageView{planes.data(), 3, 1, 2, 64, 64}, 3, floats.data());
  EXPECT_THAT(floats, ElementsAre(part(0), part(1), part(64), part(65), part(128), part(129)));
  divide_by_255(ImageView{planes.data(), 1, 1, 2, 64, 64}, 3, floats.data());
  EXPECT_THAT(floats, ElementsAre(part(0), part(1), part(0), part(1), part(0), part(1)));
}

TEST(PixelMakerArrays, AreResizedAlikeHoweverTheyLie) {
  constexpr Extent kFrom{23, 31}, kTo{17, 40};
  constexpr std::int32_t kGap = 5;  // pixels behind each row
  const auto side = [](std::int32_t pixels) { return static_cast<std::size_t>(pixels); };
  const std::size_t row = side(kFrom.width + kGap), plane = row * side(kFrom.height);
  std::vector<std::uint8_t> planes(3 * plane), together(3 * plane);
  for (std::size_t c = 0; c < 3; ++c) {
    for (std::size_t i = 0; i < plane; ++i) {
      planes[c * plane + i] = together[3 * i + c] = static_cast<std::uint8_t>((i * 37 + c * 101) >> (i % 3));
    }
  }
  const auto stride = static_cast<std::ptrdiff_t>(row);
  const ArrayPixels apart{planes.data(), kFrom, Layout::kNchw, stride, static_cast<std::ptrdiff_t>(plane)};
  const ArrayPixels interleaved{together.data(), kFrom, Layout::kNhwc, 3 * stride, 0};
  const std::size_t pixels = side(kTo.height) * side(kTo.width);
  PixelMaker maker(MemoryLedger::unlimited());
  for (const auto filter : {kernel::Filter::kBilinear, kernel::Filter::kBicubic}) {
    std::vector<std::uint8_t> first(3 * pixels), second(3 * pixels), third(3 * pixels);
    ASSERT_TRUE(maker.resize_array(apart, kTo, filter, Layout::kNchw, first.data()).ok());
    ASSERT_TRUE(maker.resize_array(interleaved, kTo, filter, Layout::kNchw, second.data()).ok());
    EXPECT_EQ(first, second);
    ASSERT_TRUE(maker.resize_array(interleaved, kTo, filter, Layout::kNhwc, third.data()).ok());
    for (std::size_t i = 0; i < 3 * pixels; ++i) ASSERT_EQ(third[i], first[i % 3 * pixels + i / 3]);
    EXPECT_EQ(maker.resize_array(apart, {0, 4}, filter, Layout::kNchw, first.data()).error().code,
              ErrorCode::kInvalidArgument);
  }
}

}  // namespace
}  // namespace drapps
