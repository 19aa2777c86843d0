#include "drapps/decode/jpeg/reader.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>

#include "drapps/base/full_testing.h"
#include "drapps/decode/jpeg/reader_testing.h"
#include "drapps/decode/testing.h"

namespace drapps::jpeg {
namespace {

using drapps::testing::Bytes;
using drapps::testing::encode_jpeg;
using drapps::testing::JpegOptions;
using testing::any_region;
using testing::kSamplings;
using testing::OneIndex;
using testing::Sampling;
using testing::Twins;

class JpegReaderTest : public ::testing::Test {
 protected:
  int pick(int low, int high) { return std::uniform_int_distribution(low, high)(random_); }
  Rect region() {
    return any_region(twins_.info().stored, [this](int low, int high) { return pick(low, high); });
  }

  /// Whole and in parts, as RGB and as gray, at every level, and without libjpeg's help.
  void expect_own_pixels(const Bytes& file, int parts) {
    for (const std::int32_t channels : {3, 1}) {
      ASSERT_TRUE(twins_.open(file, channels));
      ASSERT_TRUE(twins_.good());
      for (std::size_t level = 0; level < twins_.levels(); ++level) {
        SCOPED_TRACE(kernel::name_of(Twins::level(level)));
        OneIndex index(level % 2 == 0);
        ASSERT_EQ(twins_.compare(level, twins_.all(), &index), "");
        // Only our own decoder learns an index.
        ASSERT_TRUE(index.complete());
        for (int i = 0; i < parts; ++i) {
          const Rect rect = region();
          ASSERT_EQ(twins_.compare(level, rect), "");
          ASSERT_EQ(twins_.compare(level, rect, &index), "");
        }
      }
    }
  }

  Twins twins_;
  std::mt19937 random_{3};
};

TEST_F(JpegReaderTest, LumaIsLibjpegsGray) {
  for (const Sampling& kind : testing::kSamplings) {
    for (const Extent extent : {Extent{1, 1}, Extent{61, 83}, Extent{130, 70}}) {
      const Bytes file =
          encode_jpeg(extent, {.channels = kind.channels, .horizontal = kind.horizontal, .vertical = kind.vertical});
      ASSERT_TRUE(twins_.open(file, 1, DecodeOptions{}.max_pixels, true));
      for (std::size_t level = 0; level < twins_.levels(); ++level) {
        OneIndex index(true);
        EXPECT_EQ(twins_.compare(level, twins_.all(), &index), "");
        EXPECT_TRUE(index.complete());
        for (int i = 0; i < 10; ++i) EXPECT_EQ(twins_.compare(level, region(), &index), "");
      }
    }
  }
}

class JpegMatrix : public JpegReaderTest, public ::testing::WithParamInterface<Sampling> {
 protected:
  /// Number `i` of the 800 ways to encode, the qualities of which take turns.
  JpegOptions options(int i, Extent extent) {
    const Sampling& kind = GetParam();
    JpegOptions options{.channels = kind.channels, .horizontal = kind.horizontal, .vertical = kind.vertical};
    options.quality = 1 + i * 37 % 100;
    const auto row = static_cast<unsigned>((extent.width + 8 * kind.horizontal - 1) / (8 * kind.horizontal));
    const unsigned intervals[] = {0, 1, 3, row};
    options.restart_interval = intervals[i / 100 % 4];
    options.optimize = i / 400 % 2 != 0;
    options.seed = static_cast<std::uint32_t>(i);
    return options;
  }
};

TEST_P(JpegMatrix, EverySizeHasLibjpegsPixels) {
  for (int height = 1; height <= 70; ++height) {
    for (int width = 1; width <= 70; ++width) {
      // Where only a sample is taken, small sizes and those around whole MCUs come more often.
      const bool edge = (height <= 4 || height % 8 <= 1) && (width <= 4 || width % 8 <= 1);
      if (!full_tests() && pick(0, 99) >= (edge ? 15 : 3)) continue;
      for (int n = 0; n < (full_tests() ? 2 : 1); ++n) {
        const int i = full_tests() ? ((height * 70 + width) * 2 + n) % 800 : pick(0, 799);
        SCOPED_TRACE(std::to_string(height) + " x " + std::to_string(width) + " coded in way " + std::to_string(i));
        expect_own_pixels(encode_jpeg({height, width}, options(i, {height, width})), 4);
      }
      if (HasFailure()) return;
    }
  }
}

TEST_P(JpegMatrix, EveryQualityIntervalAndTableHasLibjpegsPixels) {
  for (int i = 0; i < 800; i += full_tests() ? 1 : 17) {
    const Extent extent{pick(1, 70), pick(1, 70)};
    SCOPED_TRACE(std::to_string(extent.height) + " x " + std::to_string(extent.width) + " coded in way " +
                 std::to_string(i));
    expect_own_pixels(encode_jpeg(extent, options(i, extent)), 4);
    if (HasFailure()) return;
  }
}

TEST_P(JpegMatrix, QuantisersOf16BitsHaveLibjpegsPixels) {
  for (const int quality : {1, 3, 9}) {
    JpegOptions coded = options(0, {40, 53});
    coded.quality = quality;
    coded.baseline = false;
    const Bytes file = encode_jpeg({40, 53}, coded);
    // A segment with a table of 16 bits.
    const std::uint8_t wide[] = {0xFF, 0xDB, 0, 131, 0x10};
    ASSERT_NE(std::search(file.begin(), file.end(), std::begin(wide), std::end(wide)), file.end());
    expect_own_pixels(file, 4);
  }
}

TEST_P(JpegMatrix, LargePicturesHaveLibjpegsPixels) {
  const Extent extent{93, 541};  // more than 16 MCUs across
  for (const int i : {94, 437, 205, 799}) expect_own_pixels(encode_jpeg(extent, options(i, extent)), 8);
}

INSTANTIATE_TEST_SUITE_P(Samplings, JpegMatrix, ::testing::ValuesIn(kSamplings),
                         [](const auto& of) { return of.param.name; });

TEST_F(JpegReaderTest, ManyTablesInTurnAreNotMistakenForEachOther) {
  std::vector<Bytes> files;
  for (int i = 0; i < 9; ++i) {
    files.push_back(encode_jpeg({40, 40}, {.quality = 30 + 7 * i, .optimize = i % 3 != 0, .seed = 50u + i}));
    files.push_back(encode_jpeg({40, 40}, {.channels = 1, .quality = 30 + 7 * i, .optimize = i % 4 != 0, .seed = 9u}));
  }
  for (int i = 0; i < 400; ++i) {
    const Bytes& file = files[static_cast<std::size_t>(pick(0, static_cast<int>(files.size()) - 1))];
    ASSERT_TRUE(twins_.open(file));
    OneIndex index(false);
    ASSERT_EQ(twins_.compare(0, twins_.all(), &index), "");
    ASSERT_TRUE(index.complete()) << i;
  }
}

TEST_F(JpegReaderTest, AFileThatIsNoLongerWhatItWasKeepsLibjpegsVerdict) {
  const Bytes small = encode_jpeg({20, 20}, {}), large = encode_jpeg({90, 90}, {});
  JpegReader reader(MemoryLedger::unlimited());
  ImageBuffer buffer(MemoryLedger::unlimited());
  const ImageInfo info = inspect(large, {}).value();
  for (const Rect rect : {Rect{0, 0, 90, 90}, Rect{80, 80, 10, 10}, Rect{0, 0, 5, 5}}) {
    const ImageView out = buffer.reshape(3, rect.height, rect.width).value();
    OneIndex index(true);
    const IndexUse use{&index, {}};
    const Status status = reader.read(small, info, rect, out, &use);
    ASSERT_FALSE(status.ok());
    EXPECT_EQ(status.error().code, ErrorCode::kCorrupt);
    EXPECT_EQ(index.offers, 0);
  }
}

}  // namespace
}  // namespace drapps::jpeg
