#include "drapps/decode/jpeg/coefficients.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <list>
#include <random>
#include <string>
#include <tuple>
#include <utility>

#include "drapps/decode/decoder.h"
#include "drapps/decode/jpeg/coefficients_format.h"
#include "drapps/decode/testing.h"
#include "drapps/kernel/jpeg/expand.h"

namespace drapps::jpeg {
namespace {

using drapps::testing::Bytes;
using drapps::testing::encode_jpeg;
using drapps::testing::pixels_of;
using kernel::jpeg::kLane;
using ::testing::HasSubstr;

constexpr std::array<std::pair<int, int>, 5> kLumaFactors{{{1, 1}, {2, 1}, {2, 2}, {1, 2}, {4, 1}}};

Bytes form_of(const Bytes& jpeg) {
  Bytes form;
  const Status status = Transcoder(MemoryLedger::unlimited()).transcode(jpeg, form);
  EXPECT_TRUE(status.ok()) << (status.ok() ? "" : status.error().to_string());
  return form;
}

/// A JPEG whose EXIF says how it is to be turned.
Bytes with_orientation(const Bytes& jpeg, std::uint8_t orientation) {
  const Bytes segment{0xFF, 0xE1, 0, 34, 'E', 'x', 'i', 'f', 0, 0, 'M', 'M',         0, 42, 0, 0, 0, 8,
                      0,    1,    1, 18, 0,   3,   0,   0,   0, 1, 0,   orientation, 0, 0,  0, 0, 0, 0};
  Bytes turned(jpeg.begin(), jpeg.begin() + 2);
  turned.insert(turned.end(), segment.begin(), segment.end());
  turned.insert(turned.end(), jpeg.begin() + 2, jpeg.end());
  return turned;
}

class Coefficients : public ::testing::Test {
 protected:
  static Result<Bytes> decode(Decoder& decoder, const Bytes& file, const Rect& region, const DecodeOptions& options) {
    ImageBuffer out(MemoryLedger::unlimited());
    const Result<ImageInfo> info = decoder.inspect(file, options);
    if (!info.ok()) return info.error();
    const Result<ImageView> view = decoder.decode(file, *info, region, options, out);
    if (!view.ok()) return view.error();
    return pixels_of(*view);
  }
  Result<Bytes> decode(const Bytes& file, const Rect& region, const DecodeOptions& options = {}) {
    return decode(decoder_, file, region, options);
  }
  Result<Bytes> decode(const Bytes& file) {
    const Result<ImageInfo> info = decoder_.inspect(file, {});
    if (!info.ok()) return info.error();
    return decode(file, {0, 0, info->extent.height, info->extent.width});
  }

  Rect random_region(Extent extent) {
    const auto pick = [&](std::int32_t low, std::int32_t high) {
      return std::uniform_int_distribution<std::int32_t>(low, high)(random_);
    };
    Rect rect{pick(0, extent.height - 1), pick(0, extent.width - 1), 0, 0};
    rect.height = pick(1, extent.height - rect.top);
    rect.width = pick(1, extent.width - rect.left);
    return rect;
  }

  /// Info and pixels of the form are those of the JPEG, for the whole and for parts, at every level.
  void expect_the_same(const Bytes& jpeg, int parts, const DecodeOptions& options = {}) {
    const Bytes form = form_of(jpeg);
    const ImageInfo expected = decoder_.inspect(jpeg, options).value();
    const Result<ImageInfo> info = decoder_.inspect(form, options);
    ASSERT_TRUE(info.ok()) << info.error().to_string();
    EXPECT_EQ(info->format, ImageFormat::kCoefficients);
    EXPECT_EQ(info->extent, expected.extent);
    EXPECT_EQ(info->stored, expected.stored);
    EXPECT_EQ(info->orientation, expected.orientation);
    EXPECT_FALSE(info->irregular);
    for (int i = 0; i <= parts; ++i) {
      const Rect region = i == 0 ? Rect{0, 0, info->extent.height, info->extent.width} : random_region(info->extent);
      const Bytes pixels = decode(jpeg, region, options).value();
      for (Decoder& decoder : levels_) {
        const Result<Bytes> result = decode(decoder, form, region, options);
        ASSERT_TRUE(result.ok()) << result.error().to_string();
        ASSERT_EQ(*result, pixels) << region.top << ' ' << region.left << ' ' << region.height << ' ' << region.width;
      }
    }
  }

  std::mt19937 random_{1};
  Decoder decoder_{MemoryLedger::unlimited()};
  std::list<Decoder> levels_ = [] {
    std::list<Decoder> decoders;
    for (const kernel::Level level : kernel::supported_levels()) {
      decoders.emplace_back(MemoryLedger::unlimited(), level);
    }
    return decoders;
  }();
};

TEST_F(Coefficients, HaveThePixelsOfTheJpegForEverySamplingAndSize) {
  for (int side = 1; side <= 40; side += 3) {
    for (const Extent extent : {Extent{side, 41 - side}, Extent{side, side}, Extent{side, 70}, Extent{53, side}}) {
      for (const auto& [horizontal, vertical] : kLumaFactors) {
        SCOPED_TRACE(std::to_string(horizontal) + "x" + std::to_string(vertical));
        expect_the_same(encode_jpeg(extent, {.horizontal = horizontal, .vertical = vertical}), 3);
      }
      expect_the_same(encode_jpeg(extent, {.channels = 1}), 3);
    }
  }
}

TEST_F(Coefficients, HaveThePixelsOfTheJpegForEveryQualityAndRestartInterval) {
  for (const int quality : {1, 10, 25, 50, 75, 90, 95, 98, 100}) {
    for (const unsigned restart_interval : {0u, 1u, 5u}) {
      for (const auto& [horizontal, vertical] : kLumaFactors) {
        expect_the_same(encode_jpeg({67, 301}, {.horizontal = horizontal,
                                                .vertical = vertical,
                                                .restart_interval = restart_interval,
                                                .quality = quality}),
                        2);
      }
    }
  }
}

TEST_F(Coefficients, BeyondAByteTakeWideBlocks) {
  const Bytes form = form_of(encode_jpeg({64, 64}, {.quality = 100}));
  const CoefficientHead head = read_coefficient_head(form).value();
  bool wide = false;
  for (std::size_t i = 0; i < 3 * 8; ++i) wide |= (form[head.rows_begin + 8 * i] & kernel::jpeg::kWide) != 0;
  EXPECT_TRUE(wide);
}

TEST_F(Coefficients, TurnAndTurnGrayAsTheJpegDoes) {
  const Bytes jpeg = encode_jpeg({37, 51}, {.horizontal = 2, .vertical = 2});
  for (std::uint8_t orientation = 0; orientation <= 9; ++orientation) {
    const Bytes turned = with_orientation(jpeg, orientation);
    ASSERT_EQ(decoder_.inspect(turned, {.exif = ExifMode::kApply})->orientation,
              orientation >= 1 && orientation <= 8 ? orientation : 1);
    expect_the_same(turned, 2, {.exif = ExifMode::kApply});
    expect_the_same(turned, 2, {.exif = ExifMode::kIgnore});
  }
  expect_the_same(jpeg, 4, {.color = ColorMode::kGray});
  expect_the_same(encode_jpeg({37, 51}, {.channels = 1}), 4, {.color = ColorMode::kGray});
}

TEST_F(Coefficients, FileIsTheSameAtEveryLevelAndOnEveryTurn) {
  const Bytes jpeg = encode_jpeg({77, 91}, {.horizontal = 2, .vertical = 2, .quality = 97});
  const Bytes form = form_of(jpeg);
  for (const kernel::Level level : kernel::supported_levels()) {
    Transcoder transcoder(MemoryLedger::unlimited(), level);
    Bytes again(5, 1);
    for (int turn = 0; turn < 2; ++turn) {
      ASSERT_TRUE(transcoder.transcode(jpeg, again).ok());
      EXPECT_EQ(again, form) << name_of(level);
    }
  }
}

TEST_F(Coefficients, AreRefusedForAllThatIsLeftToLibjpeg) {
  Bytes damaged = encode_jpeg({64, 64}, {});
  std::fill(damaged.end() - 400, damaged.end() - 2, std::uint8_t{0x55});
  const Bytes jpeg = encode_jpeg({20, 20}, {});
  for (const Bytes& file :
       {encode_jpeg({33, 33}, {.progressive = true}), encode_jpeg({33, 33}, {.channels = 4}),
        encode_jpeg({33, 33}, {.horizontal = 4, .vertical = 2}), Bytes(jpeg.begin(), jpeg.end() - 2), damaged,
        drapps::testing::encode_png({8, 8}), form_of(jpeg)}) {
    Bytes out(3);
    const Status status = Transcoder(MemoryLedger::unlimited()).transcode(file, out);
    ASSERT_FALSE(status.ok());
    EXPECT_EQ(status.error().code, ErrorCode::kUnsupported) << status.error().to_string();
    EXPECT_THAT(status.error().message, HasSubstr("keep the file"));
    EXPECT_TRUE(out.empty());
  }
  Bytes out;
  EXPECT_EQ(Transcoder(MemoryLedger::unlimited()).transcode({}, out).error().code, ErrorCode::kTruncated);
}

TEST_F(Coefficients, AnyFlippedBitIsAnErrorForEveryRegion) {
  const Bytes whole = form_of(encode_jpeg({24, 24}, {.horizontal = 2, .vertical = 2, .quality = 40}));
  Bytes form = whole;
  for (std::size_t bit = 0; bit < 8 * form.size(); ++bit) {
    form[bit / 8] ^= static_cast<std::uint8_t>(1 << bit % 8);
    const Result<Bytes> pixels = decode(form, {0, 0, 1, 1});
    ASSERT_FALSE(pixels.ok()) << bit;
    const ErrorCode code = pixels.error().code;
    if (bit / 8 >= kLane) {
      ASSERT_EQ(code, ErrorCode::kCorrupt) << bit;
    } else {  // another format, another version, another length
      ASSERT_TRUE(code == ErrorCode::kCorrupt || code == ErrorCode::kUnsupported || code == ErrorCode::kTruncated);
    }
    form[bit / 8] ^= static_cast<std::uint8_t>(1 << bit % 8);
  }
  EXPECT_TRUE(decode(form).ok());
}

TEST_F(Coefficients, CutAnywhereAreTruncatedAndLongerOnesCorrupt) {
  Bytes form = form_of(encode_jpeg({24, 40}, {}));
  for (std::size_t size = 0; size < form.size(); ++size) {
    // Its own memory, so that a sanitizer sees what is read behind the end.
    const Bytes cut(form.begin(), form.begin() + static_cast<std::ptrdiff_t>(size));
    EXPECT_EQ(decoder_.inspect(cut, {}).error().code, ErrorCode::kTruncated) << size;
  }
  form.resize(form.size() + 1);
  EXPECT_EQ(decoder_.inspect(form, {}).error().code, ErrorCode::kCorrupt);
  form.resize(form.size() + 63);
  EXPECT_EQ(decoder_.inspect(form, {}).error().code, ErrorCode::kCorrupt);
}

/// Makes all sums fit again.
void seal(Bytes& form) {
  const auto put = [&](std::size_t at, std::uint64_t number) { std::memcpy(&form[at], &number, sizeof number); };
  std::uint32_t lanes = 0;
  std::memcpy(&lanes, &form[kHeadLanesAt], sizeof lanes);
  if (Result<CoefficientHead> head = read_coefficient_head(form); head.ok()) {
    std::size_t begin = head->rows_begin;
    for (std::size_t row = 0; row < head->sums.size() / 8; ++row) {
      std::uint32_t size = 0;
      std::memcpy(&size, &head->lanes[4 * row], sizeof size);
      put(static_cast<std::size_t>(head->sums.data() - form.data()) + 8 * row,
          kernel::jpeg::lane_sum(&form[begin], size));
      begin += size * kLane;
    }
  }
  put(kSumAt, kernel::jpeg::lane_sum(&form[kLane], lanes - 1));
}

TEST_F(Coefficients, ForgedMasksAreCorruptForEveryRegion) {
  const Bytes jpeg = encode_jpeg({24, 40}, {});
  Bytes form = form_of(jpeg);
  const std::size_t mask = read_coefficient_head(form)->rows_begin;
  std::memset(&form[mask], 0xFF, 5 * 8);
  seal(form);
  for (const Rect region : {Rect{0, 0, 1, 1}, Rect{20, 30, 2, 2}}) {
    EXPECT_EQ(decode(form, region).error().code, ErrorCode::kCorrupt);
  }
  // The other way round: a form that is not the JPEG's, but one of its own.
  form = form_of(jpeg);
  std::memset(&form[mask + 3 * 5 * 8], 0x11, 2);  // the first DC
  seal(form);
  EXPECT_NE(decode(form).value(), decode(jpeg).value());
}

TEST_F(Coefficients, ForgedHeadsAreErrorsAndTakeNoMemory) {
  const Bytes whole = form_of(encode_jpeg({24, 40}, {.horizontal = 2, .vertical = 2}));
  for (const std::size_t at : {kWidthAt, kHeightAt, kComponentsAt, kAcrossAt, kDownAt, kOrientationAt, kShapeBytes}) {
    for (const std::uint8_t value : Bytes{0x00, 0x03, 0x04, 0x08, 0x80, 0xFF}) {
      for (std::size_t byte = 0; byte < 4; ++byte) {
        Bytes form = whole;
        if (form[kLane + at + byte] == value) continue;
        form[kLane + at + byte] = value;
        seal(form);
        MemoryLedger ledger;
        Decoder decoder(ledger);
        const Result<Bytes> pixels = decode(decoder, form, {0, 0, 1, 1}, {});
        EXPECT_LT(ledger.peak(), 1u << 16);
        if (pixels.ok()) continue;
        EXPECT_EQ(pixels.error().stage, Stage::kDecode);
      }
    }
  }
  Bytes form = whole;
  form[kVersionAt] = 2;
  EXPECT_EQ(decode(form).error().code, ErrorCode::kUnsupported);
}

TEST_F(Coefficients, AreSubjectToTheLimitOfPixelsAndNoMask) {
  const Bytes form = form_of(encode_jpeg({64, 64}, {}));
  EXPECT_EQ(decoder_.inspect(form, {.max_pixels = 64 * 63}).error().code, ErrorCode::kTooLarge);
  EXPECT_EQ(decoder_.inspect(form, {.color = ColorMode::kIndices}).error().code, ErrorCode::kUnsupported);
}

TEST_F(Coefficients, BytesThatChangedSinceTheyWereInspectedAreNoDanger) {
  const ImageInfo large = decoder_.inspect(form_of(encode_jpeg({64, 64}, {})), {}).value();
  ImageBuffer out(MemoryLedger::unlimited());
  const Bytes small = form_of(encode_jpeg({16, 16}, {}));
  EXPECT_EQ(decoder_.decode(small, large, {32, 32, 32, 32}, {}, out).error().code, ErrorCode::kCorrupt);
}

TEST_F(Coefficients, GiveAllMemoryBack) {
  MemoryLedger ledger;
  Decoder decoder(ledger);
  Transcoder transcoder(ledger);
  Bytes form;
  ASSERT_TRUE(transcoder.transcode(encode_jpeg({64, 64}, {}), form).ok());
  ASSERT_TRUE(decode(decoder, form, {0, 0, 9, 9}, {}).ok());
  EXPECT_GT(ledger.used(), 0u);
  decoder.reset();
  transcoder.reset();
  EXPECT_EQ(ledger.used(), 0u);
}

}  // namespace
}  // namespace drapps::jpeg
