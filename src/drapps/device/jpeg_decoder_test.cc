// JPEGs decoded on the host device, against the decoder of the CPU and libjpeg-turbo: byte for byte.
#include "drapps/device/jpeg_decoder.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "drapps/decode/jpeg/coefficients.h"
#include "drapps/decode/jpeg/reader_testing.h"
#include "drapps/decode/testing.h"
#include "drapps/device/jpeg_decoder_testing.h"

namespace drapps::device {
namespace {

using drapps::testing::Bytes;
using drapps::testing::encode_jpeg;
using drapps::testing::JpegOptions;
using jpeg::testing::any_region;
using jpeg::testing::kSamplings;
using jpeg::testing::OneIndex;
using jpeg_decoder_testing::JpegDecoderTest;

/// One picture that was asked for, and what the CPU makes of it.
struct Asked {
  Bytes expected;
  Rect region;
};

TEST_F(JpegDecoderTest, MakesThePixelsOfTheCpuOfEveryKind) {
  constexpr Extent kExtents[] = {{1, 1}, {8, 8}, {9, 5}, {33, 2}, {16, 3}, {17, 33}, {40, 150}, {75, 261}};
  constexpr unsigned kIntervals[] = {0, 1, 3, 8, 1000};
  for (const std::int32_t channels : {3, 1}) {
    const auto here = decoder(channels);
    for (const auto& [name, components, across, down] : kSamplings) {
      for (const Extent extent : kExtents) {
        // All regions of all variants of a file in one launch.
        here->clear();
        std::vector<Asked> asked;
        for (const bool fine : {false, true}) {
          const Bytes file = encode_jpeg(extent, {.channels = components,
                                                  .horizontal = across,
                                                  .vertical = down,
                                                  .restart_interval = kIntervals[pick(0, 4)],
                                                  .quality = pick(3, 98),
                                                  .optimize = pick(0, 1) != 0,
                                                  .baseline = pick(0, 1) != 0,
                                                  .seed = static_cast<std::uint32_t>(random_()),
                                                  .flat = pick(0, 6)});
          OneIndex index = learn(file, fine);
          ImageInfo info = info_of(file);
          for (int i = 0; i < 6; ++i) {
            info.luma = channels == 1 && i % 3 == 2;
            const Rect region = i == 0 ? Rect{0, 0, extent.height, extent.width}
                                       : any_region(extent, [this](int low, int high) { return pick(low, high); });
            ASSERT_EQ(here->add(file, info, region, {&index, {}, nullptr}).value(), JpegTaken::kTaken);
            asked.push_back({on_cpu(file, info, region, channels), region});
          }
        }
        run(*here);
        ASSERT_EQ(here->pictures(), asked.size());
        for (std::size_t i = 0; i < asked.size(); ++i) {
          SCOPED_TRACE(std::string(name) + " " + std::to_string(extent.height) + " x " + std::to_string(extent.width) +
                       ", picture " + std::to_string(i));
          ASSERT_TRUE(here->right(i));
          ASSERT_EQ(pixels(*here, i, channels), asked[i].expected);
        }
      }
    }
  }
}

TEST_F(JpegDecoderTest, MakesThePixelsOfCoefficients) {
  jpeg::Transcoder transcoder(MemoryLedger::unlimited());
  OneIndex none(true);
  for (const std::int32_t channels : {3, 1}) {
    const auto here = decoder(channels);
    for (const auto& [name, components, across, down] : kSamplings) {
      for (const Extent extent : {Extent{1, 1}, Extent{33, 2}, Extent{40, 150}, Extent{19, 631}}) {
        for (const int quality : {20, 95, 100}) {
          const Bytes file =
              encode_jpeg(extent, {.channels = components, .horizontal = across, .vertical = down, .quality = quality});
          Bytes form;
          ASSERT_TRUE(transcoder.transcode(file, form).ok());
          ImageInfo info = jpeg::inspect_coefficients(form, {}).value();
          for (int i = 0; i < 4; ++i) {
            const Rect region = i == 0 ? Rect{0, 0, extent.height, extent.width}
                                       : any_region(extent, [this](int low, int high) { return pick(low, high); });
            ASSERT_EQ(on_device(*here, form, info, region, channels, none),
                      on_cpu(file, info_of(file), region, channels))
                << name << " " << extent.height << " x " << extent.width;
          }
          form[static_cast<std::size_t>(pick(128, static_cast<int>(form.size()) - 1))] ^= 1;
          EXPECT_EQ(here->add(form, info, {0, 0, 1, 1}, {}).value(), JpegTaken::kNotHere);
        }
      }
    }
  }
}

TEST_F(JpegDecoderTest, TakesBothFormsTogether) {
  const auto here = decoder(3);
  const Bytes file = encode_jpeg({61, 83}, {.horizontal = 2, .vertical = 2});
  Bytes form;
  ASSERT_TRUE(jpeg::Transcoder(MemoryLedger::unlimited()).transcode(file, form).ok());
  OneIndex index = learn(file, true);
  const jpeg::IndexUse use{&index, {}, nullptr};
  const Rect crop{7, 9, 30, 40};
  for (int i = 0; i < 3; ++i) {
    ASSERT_EQ(here->add(form, jpeg::inspect_coefficients(form, {}).value(), crop, {}).value(), JpegTaken::kTaken);
    ASSERT_EQ(here->add(file, info_of(file), crop, use).value(), JpegTaken::kTaken);
  }
  run(*here);
  for (std::size_t i = 0; i < 6; ++i) {
    EXPECT_TRUE(here->right(i));
    EXPECT_EQ(pixels(*here, i, 3), on_cpu(file, info_of(file), crop, 3));
  }
}

TEST_F(JpegDecoderTest, LeavesOtherKindsToTheCpu) {
  const auto here = decoder(3);
  OneIndex any(true);
  for (const JpegOptions& options : {JpegOptions{.progressive = true}, JpegOptions{.channels = 4},
                                     JpegOptions{.rgb = true}, JpegOptions{.horizontal = 1, .vertical = 4}}) {
    const Bytes file = encode_jpeg({40, 40}, options);
    const ImageInfo info = info_of(file);
    on_cpu(file, info, {0, 0, 40, 40}, 3, &any);
    EXPECT_EQ(here->add(file, info, {0, 0, 40, 40}, {&any, {}, nullptr}).value(), JpegTaken::kNotHere);
  }
}

TEST_F(JpegDecoderTest, SaysWhenItIsFull) {
  const Bytes file = encode_jpeg({64, 64}, {});
  const ImageInfo info = info_of(file);
  OneIndex index = learn(file, true);
  const Rect all{0, 0, 64, 64};
  const jpeg::IndexUse use{&index, {}, nullptr};
  for (const JpegBounds bounds : {JpegBounds{.input = 4 * file.size() + 30'000, .work = 1 << 20},
                                  JpegBounds{.input = 1 << 20, .work = 4 * 64 * 64 * 3 * 5}}) {
    const auto here = decoder(3, bounds);
    std::size_t taken = 0;
    while (here->add(file, info, all, use).value() == JpegTaken::kTaken) ++taken;
    EXPECT_GE(taken, 2u);
    EXPECT_EQ(here->add(file, info, all, use).value(), JpegTaken::kFull);
    EXPECT_EQ(here->pictures(), taken);
    run(*here);
    const Bytes expected = on_cpu(file, info, all, 3);
    for (std::size_t i = 0; i < taken; ++i) {
      EXPECT_TRUE(here->right(i));
      EXPECT_EQ(pixels(*here, i, 3), expected);
    }
    here->clear();
    EXPECT_EQ(here->add(file, info, all, use).value(), JpegTaken::kTaken);
  }
  EXPECT_EQ(decoder(3, {.input = 1000})->add(file, info, all, use).value(), JpegTaken::kNotHere);
  EXPECT_EQ(decoder(3, {.work = 1000})->add(file, info, all, use).value(), JpegTaken::kNotHere);
  EXPECT_EQ(JpegDecoder::make(device_, MemoryLedger::unlimited(), 3, {.work = std::size_t{2} << 30}).error().code,
            ErrorCode::kResourceExhausted);
}

TEST_F(JpegDecoderTest, APictureThatFindsNoRoomLeavesNothing) {
  const Bytes first = encode_jpeg({64, 64}, {});
  OneIndex index = learn(first, true);
  // Room for the first one with its codes, and not for a second one.
  const auto here = decoder(3, {.input = first.size() + 27'000});
  ASSERT_EQ(here->add(first, info_of(first), {0, 0, 64, 64}, {&index, {}, nullptr}).value(), JpegTaken::kTaken);
  for (std::uint32_t i = 0; i < 20; ++i) {
    const Bytes file = encode_jpeg({64, 64}, {.optimize = true, .seed = i, .flat = static_cast<int>(i % 6)});
    OneIndex other = learn(file, true);
    ASSERT_EQ(here->add(file, info_of(file), {0, 0, 64, 64}, {&other, {}, nullptr}).value(), JpegTaken::kFull);
  }
  run(*here);
  EXPECT_TRUE(here->right(0));
  EXPECT_EQ(pixels(*here, 0, 3), on_cpu(first, info_of(first), {0, 0, 64, 64}, 3));
}

TEST_F(JpegDecoderTest, ADeviceThatIsLostIsAnError) {
  const auto here = decoder(3);
  const Bytes file = encode_jpeg({64, 64}, {});
  OneIndex index = learn(file, true);
  ASSERT_EQ(here->add(file, info_of(file), {0, 0, 64, 64}, {&index, {}, nullptr}).value(), JpegTaken::kTaken);
  device_.lose();
  EXPECT_EQ(here->launch(*stream_).error().code, ErrorCode::kDeviceLost);
}

TEST_F(JpegDecoderTest, ARegionThatIsNoneIsAnError) {
  const auto here = decoder(3);
  const Bytes file = encode_jpeg({64, 64}, {});
  OneIndex index = learn(file, true);
  EXPECT_EQ(here->add(file, info_of(file), {0, 1, 64, 64}, {&index, {}, nullptr}).error().code,
            ErrorCode::kInvalidArgument);
}

}  // namespace
}  // namespace drapps::device
