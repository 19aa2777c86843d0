#include "drapps/decode/decoder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "drapps/decode/testing.h"

namespace drapps {
namespace {

using testing::Bytes;
using testing::encode_jpeg;
using testing::encode_png;
using testing::encode_webp;
using ::testing::HasSubstr;
using testing::pixels_of;

/// A decoder and its buffer, as one worker has them.
class DecoderTest : public ::testing::Test {
 protected:
  Result<Bytes> decode(const Bytes& file, std::optional<Rect> region = {}, const DecodeOptions& options = {}) {
    const Result<ImageInfo> info = decoder_.inspect(file, options);
    if (!info.ok()) return info.error();
    const Rect rect = region.value_or(Rect{0, 0, info->extent.height, info->extent.width});
    const Result<ImageView> view = decoder_.decode(file, *info, rect, options, out_);
    if (!view.ok()) return view.error();
    EXPECT_EQ(view->height, rect.height);
    EXPECT_EQ(view->width, rect.width);
    return pixels_of(*view);
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

  /// Decodes parts and compares them with the same parts of the whole.
  void expect_parts_equal_whole(const Bytes& file, Extent extent, int parts, const DecodeOptions& options = {}) {
    const ImageInfo info = decoder_.inspect(file, options).value();
    ASSERT_EQ(info.extent, extent);
    ImageBuffer whole_out(MemoryLedger::unlimited());
    const Rect all{0, 0, extent.height, extent.width};
    ImageInfo decoded_whole = info;
    decoded_whole.irregular = true;  // makes the reader take every row and column
    const ImageView whole = decoder_.decode(file, decoded_whole, all, options, whole_out).value();
    for (int i = 0; i < parts; ++i) {
      const Rect region = random_region(extent);
      const ImageView part = decoder_.decode(file, info, region, options, out_).value();
      ASSERT_EQ(pixels_of(part), pixels_of(whole.crop(region)))
          << region.top << ' ' << region.left << ' ' << region.height << ' ' << region.width;
    }
  }

  MemoryLedger ledger_;
  Decoder decoder_{ledger_};
  ImageBuffer out_{ledger_};
  std::mt19937 random_{1};
};

constexpr std::array kExtents{Extent{1, 1},   Extent{1, 40},  Extent{37, 1},    Extent{8, 8},
                              Extent{17, 31}, Extent{64, 64}, Extent{101, 149}, Extent{203, 97}};

TEST_F(DecoderTest, PartOfAJpegEqualsTheCropOfTheWholeOnEverySampling) {
  for (const auto& [horizontal, vertical] : {std::pair{1, 1}, {2, 1}, {2, 2}, {1, 2}, {4, 1}, {1, 4}, {4, 2}, {2, 4}}) {
    for (const unsigned restart_interval : {0u, 1u, 3u}) {
      for (const Extent extent : kExtents) {
        SCOPED_TRACE(std::to_string(horizontal) + "x" + std::to_string(vertical));
        const Bytes file =
            encode_jpeg(extent, {.horizontal = horizontal, .vertical = vertical, .restart_interval = restart_interval});
        EXPECT_FALSE(decoder_.inspect(file, {})->irregular);
        expect_parts_equal_whole(file, extent, 12);
      }
    }
  }
}

TEST_F(DecoderTest, PartOfAnyOtherFileEqualsTheCropOfTheWhole) {
  for (const Extent extent : kExtents) {
    expect_parts_equal_whole(encode_jpeg(extent, {.channels = 1}), extent, 8);
    expect_parts_equal_whole(encode_jpeg(extent, {.channels = 4}), extent, 8);
    expect_parts_equal_whole(encode_jpeg(extent, {.horizontal = 2, .vertical = 2, .progressive = true}), extent, 8);
    expect_parts_equal_whole(encode_png(extent), extent, 8);
    expect_parts_equal_whole(encode_webp(extent), extent, 8);
  }
}

TEST_F(DecoderTest, LosslessFormatsGiveBackTheirPixels) {
  const Extent extent{23, 31};
  const Bytes pixels = testing::photo(extent, 3);
  for (const Bytes& file : {encode_png(extent), encode_webp(extent)}) {
    const Bytes planes = decode(file).value();
    const std::size_t area = pixels.size() / 3;
    for (std::size_t i = 0; i < pixels.size(); ++i) ASSERT_EQ(pixels[i], planes[i % 3 * area + i / 3]);
  }
}

TEST_F(DecoderTest, GrayIsTheLumaOfTheColours) {
  const Bytes file = encode_jpeg({20, 30}, {});
  const Bytes colour = decode(file).value();
  const Bytes gray = decode(file, {}, {.color = ColorMode::kGray}).value();
  ASSERT_EQ(gray.size(), 600u);
  for (std::size_t i = 0; i < 600; ++i) {
    const unsigned sum = colour[i] * 19595u + colour[600 + i] * 38470u + colour[1200 + i] * 7471u + 0x8000u;
    ASSERT_EQ(gray[i], sum >> 16);
  }
}

TEST_F(DecoderTest, VerdictOnATruncatedFileDoesNotDependOnTheRegion) {
  const Extent extent{64, 48};
  for (const Bytes& file : {encode_jpeg(extent, {.horizontal = 2, .vertical = 2}),
                            encode_jpeg(extent, {.progressive = true}), encode_png(extent), encode_webp(extent)}) {
    ASSERT_TRUE(decode(file).ok());
    for (std::size_t size = 0; size + 40 < file.size(); size += 29) {
      const Bytes cut(file.begin(), file.begin() + static_cast<std::ptrdiff_t>(size));
      for (const auto& region : {std::optional<Rect>{}, std::optional(Rect{0, 0, 1, 1})}) {
        const Result<Bytes> result = decode(cut, region);
        ASSERT_FALSE(result.ok()) << size;
        EXPECT_EQ(result.error().code, ErrorCode::kTruncated) << size << ' ' << result.error().to_string();
        EXPECT_EQ(result.error().stage, Stage::kDecode);
      }
    }
  }
}

TEST_F(DecoderTest, DamagedBitsGiveTheSamePixelsToEveryRegion) {
  const Extent extent{96, 80};
  for (int i = 0; i < 200; ++i) {
    Bytes file = encode_jpeg(extent, {.horizontal = 2, .vertical = 2, .restart_interval = i % 2 == 0 ? 0u : 4u});
    std::uniform_int_distribution<std::size_t> place(file.size() / 2, file.size() - 3);
    for (int flips = 0; flips <= i % 4; ++flips) file[place(random_)] ^= static_cast<std::uint8_t>(1 << flips);
    const Result<Bytes> whole = decode(file);
    if (whole.ok()) {
      expect_parts_equal_whole(file, extent, 4);
    } else {
      EXPECT_FALSE(decode(file, Rect{0, 0, 1, 1}).ok());
    }
  }
}

TEST_F(DecoderTest, TablesOfOnePictureAreNotLentToTheNext) {
  const Bytes file = encode_jpeg({16, 16}, {});
  ASSERT_TRUE(decode(file).ok());
  Bytes bare(file.begin(), file.begin() + 2);
  for (std::size_t at = 2; at < file.size();) {
    if (file[at + 1] == 0xDA) {
      bare.insert(bare.end(), file.begin() + static_cast<std::ptrdiff_t>(at), file.end());
      break;
    }
    const std::size_t length = 2 + (std::size_t{file[at + 2]} << 8 | file[at + 3]);
    const auto first = file.begin() + static_cast<std::ptrdiff_t>(at);
    if (file[at + 1] != 0xDB) bare.insert(bare.end(), first, first + static_cast<std::ptrdiff_t>(length));
    at += length;
  }
  const Result<Bytes> result = decode(bare);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code, ErrorCode::kCorrupt);
}

TEST_F(DecoderTest, ForeignFilesAreNamed) {
  using namespace std::string_view_literals;
  for (const auto& [content, name] : {std::pair{"GIF89a............"sv, "GIF"},
                                      {"BM............"sv, "BMP"},
                                      {"II*\0............"sv, "TIFF"},
                                      {"<html>not found</html>"sv, "HTML"},
                                      {"\0\0\0\x20"
                                       "ftypavif...."sv,
                                       "AVIF"},
                                      {"a, b, c"sv, "text"}}) {
    const Bytes file(content.begin(), content.end());
    const Result<Bytes> result = decode(file);
    ASSERT_FALSE(result.ok());
    EXPECT_EQ(result.error().code, ErrorCode::kUnsupported);
    EXPECT_THAT(result.error().message, HasSubstr(name));
  }
  EXPECT_EQ(decode({}).error().code, ErrorCode::kTruncated);
}

TEST_F(DecoderTest, PicturesAboveTheLimitAreRefusedBeforeMemoryIsTaken) {
  const DecodeOptions options{.max_pixels = 63 * 64};
  for (const Bytes& file : {encode_jpeg({64, 64}, {}), encode_png({64, 64}), encode_webp({64, 64})}) {
    const std::size_t before = ledger_.used();
    const Result<Bytes> result = decode(file, {}, options);
    ASSERT_FALSE(result.ok());
    EXPECT_EQ(result.error().code, ErrorCode::kTooLarge);
    EXPECT_EQ(ledger_.used(), before);
  }
}

TEST_F(DecoderTest, RegionsOutsideThePictureAreRefused) {
  const Bytes file = encode_jpeg({16, 24}, {});
  for (const Rect region : {Rect{0, 0, 17, 1}, Rect{0, 24, 1, 1}, Rect{-1, 0, 1, 1}, Rect{0, 0, 0, 5},
                            Rect{0x7FFFFFFF, 0, 0x7FFFFFFF, 1}}) {
    const Result<Bytes> result = decode(file, region);
    ASSERT_FALSE(result.ok());
    EXPECT_EQ(result.error().code, ErrorCode::kInvalidArgument);
  }
}

TEST_F(DecoderTest, ABudgetThatIsTooSmallEndsInAnErrorAndTheDecoderGoesOn) {
  for (const Bytes& big :
       {encode_jpeg({600, 600}, {.progressive = true}), encode_png({600, 600}), encode_webp({600, 600})}) {
    MemoryLedger ledger;
    Decoder decoder(ledger);
    ImageBuffer out(ledger);
    const ImageInfo info = decoder.inspect(big, {}).value();
    ledger.set_limit(200 * 1024);
    // A row fits; what the codec needs does not.
    const Result<ImageView> result = decoder.decode(big, info, {0, 0, 1, 600}, {}, out);
    if (info.format != ImageFormat::kPng) {
      ASSERT_FALSE(result.ok());
      EXPECT_EQ(result.error().code, ErrorCode::kResourceExhausted);
    }
    ledger.set_limit(std::size_t{1} << 30);
    EXPECT_TRUE(decoder.decode(big, info, {0, 0, 600, 600}, {}, out).ok());
  }
}

TEST_F(DecoderTest, ResetGivesAllMemoryBack) {
  for (const Bytes& file : {encode_jpeg({64, 64}, {}), encode_png({64, 64}), encode_webp({64, 64})}) {
    ASSERT_TRUE(decode(file).ok());
    EXPECT_GT(ledger_.used(), 0u);
    decoder_.reset();
    out_.reset();
    EXPECT_EQ(ledger_.used(), 0u);
    ASSERT_TRUE(decode(file).ok());
  }
}

TEST_F(DecoderTest, BytesThatChangedSinceTheyWereInspectedAreNoDanger) {
  const ImageInfo large = decoder_.inspect(encode_jpeg({64, 64}, {}), {}).value();
  const Result<ImageView> result = decoder_.decode(encode_jpeg({16, 16}, {}), large, {32, 32, 32, 32}, {}, out_);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code, ErrorCode::kCorrupt);

  Bytes cut = encode_jpeg({64, 64}, {});
  cut.resize(cut.size() / 2);
  EXPECT_EQ(decoder_.decode(cut, large, {32, 32, 32, 32}, {}, out_).error().code, ErrorCode::kTruncated);
}

}  // namespace
}  // namespace drapps
