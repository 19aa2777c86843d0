// Damaged entropy-coded data: whatever libjpeg makes of it, whole or in parts, with what an index remembers of it.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "drapps/base/full_testing.h"
#include "drapps/decode/jpeg/markers.h"
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

class JpegDamage : public ::testing::TestWithParam<Sampling> {
 public:
  static std::size_t scan_of(const Bytes& file) {
    std::size_t at = 2;
    while (file[at + 1] != kSos) at += 2 + static_cast<std::size_t>(file[at + 2] << 8 | file[at + 3]);
    return at + 2 + static_cast<std::size_t>(file[at + 2] << 8 | file[at + 3]);
  }

 protected:
  int pick(int low, int high) { return std::uniform_int_distribution(low, high)(random_); }

  Bytes file() {
    const Sampling& kind = GetParam();
    const Extent extent{pick(8, 70), pick(8, 70)};
    JpegOptions options{.channels = kind.channels, .horizontal = kind.horizontal, .vertical = kind.vertical};
    options.quality = pick(20, 97);
    options.optimize = pick(0, 2) == 0;
    const int row = (extent.width + 8 * kind.horizontal - 1) / (8 * kind.horizontal);
    const int intervals[] = {0, 0, 1, 3, row, 2 * row};
    options.restart_interval = static_cast<unsigned>(intervals[pick(0, 5)]);
    options.seed = static_cast<std::uint32_t>(random_());
    return encode_jpeg(extent, options);
  }

  /// A byte of the scan that is no part of a marker or pair, so that damage to it leaves the structure whole; the
  /// structure's damage is for others to find.
  std::size_t plain_byte(const Bytes& file, std::size_t scan) {
    while (true) {
      const auto at = static_cast<std::size_t>(pick(static_cast<int>(scan), static_cast<int>(file.size()) - 3));
      if (file[at] != 0xFF && file[at - 1] != 0xFF) return at;
    }
  }

  /// One of the ways in which scans are damaged.
  void damage(Bytes& file) {
    const std::size_t scan = scan_of(file);
    if (file.size() - scan < 12) return;
    const std::size_t at = plain_byte(file, scan);
    const auto place = file.begin() + static_cast<std::ptrdiff_t>(at);
    const auto rest = static_cast<int>(file.size() - 2 - at);
    switch (pick(0, 7)) {
      case 0: *place = static_cast<std::uint8_t>(*place ^ 1 << pick(0, 7)); break;
      case 1: *place = static_cast<std::uint8_t>(pick(0, 254)); break;
      case 2: file.erase(place); break;
      case 3: file.insert(place, static_cast<std::uint8_t>(pick(0, 254))); break;
      case 4: file.erase(place, place + pick(1, std::min(rest, 40))); break;
      case 5:
        std::generate_n(place, std::min(rest, 20), [this] { return static_cast<std::uint8_t>(pick(0, 254)); });
        break;
      case 6: {  // restart markers in another order
        std::vector<std::size_t> markers;
        for (std::size_t i = scan; i + 1 < file.size(); ++i) {
          if (file[i] == 0xFF && (file[i + 1] & 0xF8) == kRst0) markers.push_back(i + 1);
        }
        if (markers.size() < 2) break;
        const int last = static_cast<int>(markers.size()) - 1;
        std::swap(file[markers[static_cast<std::size_t>(pick(0, last))]],
                  file[markers[static_cast<std::size_t>(pick(0, last))]]);
        break;
      }
      default: file.erase(place, file.end() - pick(0, 2)); break;  // cut off, with or without the end marker
    }
  }

  Twins twins_;
  std::mt19937 random_{11};
};

TEST_P(JpegDamage, GetsLibjpegsVerdictAndPixelsWholeAndInParts) {
  int regular = 0, own = 0;
  const int files = full_tests() ? 8'000 : 500;
  for (int i = 0; i < files; ++i) {
    Bytes bytes = file();
    for (int n = pick(1, 3); n > 0; --n) damage(bytes);
    SCOPED_TRACE(i);
    if (!twins_.open(bytes, pick(0, 3) == 0 ? 1 : 3)) continue;
    const bool is_regular = !twins_.info().irregular;
    regular += is_regular;
    const auto level = static_cast<std::size_t>(i) % twins_.levels();
    OneIndex fine(true), rows(false), whole(false);
    const auto number = [this](int low, int high) { return pick(low, high); };
    for (int part = 0; part < 5; ++part) {
      const Rect rect = any_region(twins_.info().stored, number);
      ASSERT_EQ(twins_.compare_turbo(rect), "");
      ASSERT_EQ(twins_.compare(level, rect), "");
      ASSERT_EQ(twins_.compare(level, rect, &fine), "");
      ASSERT_EQ(twins_.compare(level, rect, &rows), "");
    }
    ASSERT_EQ(twins_.compare(level, twins_.all(), &whole), "");
    own += whole.complete();
    for (OneIndex* index : {&fine, &rows}) ASSERT_EQ(twins_.compare(level, twins_.all(), index), "");
    for (int part = 0; part < 5; ++part) {
      const Rect rect = any_region(twins_.info().stored, number);
      for (OneIndex* index : {&fine, &rows}) ASSERT_EQ(twins_.compare(level, rect, index), "");
    }
  }
  EXPECT_GT(regular, files / 3);
  EXPECT_GT(own, files / 50);
}

TEST(JpegDamageOfPredictors, ThatGrowBeyond32BitsGetsLibjpegsVerdict) {
  // A million blocks, each brighter than the one before by as much as can be coded.
  const Extent extent{8200, 8200};
  Bytes file = encode_jpeg({8, 8}, {.channels = 1});
  file.resize(JpegDamage::scan_of(file));
  const std::uint8_t frame[] = {0xFF, kSof0, 0, 11, 8};
  const auto size = std::search(file.begin(), file.end(), std::begin(frame), std::end(frame)) + 5;
  for (int i = 0; i < 4; i += 2) {
    size[i] = static_cast<std::uint8_t>(extent.height >> 8);
    size[i + 1] = static_cast<std::uint8_t>(extent.height & 0xFF);
  }
  for (int i = 0; i < 1025 * 1025; ++i) file.insert(file.end(), {0xFF, 0, 0x7F, 0xFA});
  file.insert(file.end(), {0xFF, kEoi});

  const ImageInfo info = inspect(file, {}).value();
  ASSERT_EQ(info.extent, extent);
  ASSERT_FALSE(info.irregular);
  TurboReader turbo(MemoryLedger::unlimited());
  ImageBuffer expected(MemoryLedger::unlimited()), buffer(MemoryLedger::unlimited());
  for (const std::int32_t place : {8, 64, 8199}) {
    const Rect rect{place, place, 1, 1};
    const ImageView pixel = expected.reshape(1, 1, 1).value(), out = buffer.reshape(1, 1, 1).value();
    const Status verdict = turbo.read(file, info, rect, pixel);
    for (const kernel::Level level : kernel::supported_levels()) {
      JpegReader reader(MemoryLedger::unlimited(), level);
      EXPECT_EQ(reader.read(file, info, rect, out).ok(), verdict.ok()) << place;
      EXPECT_EQ(*out.data, *pixel.data) << place;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Samplings, JpegDamage, ::testing::ValuesIn(kSamplings),
                         [](const auto& of) { return of.param.name; });

}  // namespace
}  // namespace drapps::jpeg
