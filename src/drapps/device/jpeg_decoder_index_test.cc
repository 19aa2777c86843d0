// JPEGs on the host device by an index that is only a part, another file's or wrong: the CPU's pixels, or nothing.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>

#include "drapps/decode/jpeg/reader_testing.h"
#include "drapps/decode/jpeg/structure.h"
#include "drapps/decode/testing.h"
#include "drapps/device/jpeg_decoder.h"
#include "drapps/device/jpeg_decoder_testing.h"

namespace drapps::device {
namespace {

using drapps::testing::Bytes;
using drapps::testing::encode_jpeg;
using jpeg::testing::any_region;
using jpeg::testing::kSamplings;
using jpeg::testing::OneIndex;
using jpeg_decoder_testing::JpegDecoderTest;

TEST_F(JpegDecoderTest, NeedsTheBeginOfEachSegmentInTheIndex) {
  const auto here = decoder(3);
  const Bytes file = encode_jpeg({160, 421}, {});
  const ImageInfo info = info_of(file);
  const Rect crop{17, 20, 30, 8};  // MCUs 2 and 3 of rows 2 to 5, of 53 each
  for (const bool fine : {false, true}) {
    const OneIndex all = learn(file, fine);
    const std::size_t enough = fine ? 5 * 7 + 1 : 6;
    for (const std::size_t entries : {std::size_t{0}, std::size_t{1}, enough - 1, enough, enough + 1}) {
      OneIndex part(fine);
      part.known = all.known;
      part.known.entries.resize(entries);
      EXPECT_EQ(on_device(*here, file, info, crop, 3, part).empty(), entries < enough) << entries;
    }
    EXPECT_EQ(here->add(file, info, crop, {}).value(), JpegTaken::kNotHere);
  }
}

TEST_F(JpegDecoderTest, TakesTheCropThatTheIndexWasLearntBy) {
  const auto here = decoder(3);
  for (const unsigned interval : {0u, 5u, 8u}) {
    for (const bool fine : {false, true}) {
      for (int i = 0; i < 20; ++i) {
        const Bytes file = encode_jpeg({90, 150}, {.vertical = 2, .restart_interval = interval});
        const ImageInfo info = info_of(file);
        const Rect crop = any_region({90, 150}, [this](int low, int high) { return pick(low, high); });
        OneIndex learnt(fine);
        const Bytes expected = on_cpu(file, info, crop, 3, &learnt);
        ASSERT_EQ(on_device(*here, file, info, crop, 3, learnt), expected);
        // The last entry is the only one whose end may be missing.
        if (learnt.known.entries.size() < 2 || learnt.complete()) continue;
        learnt.known.entries.back().dc[0] += 1;
        const Bytes output = on_device(*here, file, info, crop, 3, learnt);
        ASSERT_TRUE(output.empty() || output == expected);
      }
    }
  }
}

TEST_F(JpegDecoderTest, TakesNoIndexOfAnotherFile) {
  const auto here = decoder(3);
  const Bytes file = encode_jpeg({60, 90}, {});
  const ImageInfo info = info_of(file);
  const OneIndex right = learn(file, true);
  for (int change = 0; change < 6; ++change) {
    OneIndex index(true);
    index.known = right.known;
    jpeg::IndexShape& shape = index.known.shape;
    if (change == 1) ++shape.mcus_across;
    if (change == 2) --shape.mcus_down;
    if (change == 3) shape.headers ^= 1;
    if (change == 4) --shape.file_bytes;
    if (change == 5) shape.group = 0;
    EXPECT_EQ(on_device(*here, file, info, {0, 0, 60, 90}, 3, index).empty(), change != 0) << change;
  }
}

TEST_F(JpegDecoderTest, AnyWrongEntryShows) {
  const auto here = decoder(3);
  for (const bool fine : {false, true}) {
    const Bytes file = encode_jpeg({100, 200}, {.vertical = 2});
    const ImageInfo info = info_of(file);
    const OneIndex right = learn(file, fine);
    const Rect all{0, 0, 100, 200};
    const Bytes expected = on_cpu(file, info, all, 3);
    for (std::size_t number = 0; number < right.known.entries.size(); ++number) {
      OneIndex index(fine);
      index.known = right.known;
      jpeg::IndexEntry& entry = index.known.entries[number];
      switch (pick(0, 3)) {
        case 0: entry.bit_low ^= static_cast<std::uint16_t>(1 << pick(0, 15)); break;
        case 1: entry.dc[pick(0, 2)] ^= static_cast<std::int16_t>(1 << pick(0, 15)); break;
        case 2: entry.bit_high = 0xFFFF; break;
        default: entry = {0, 3, {1, 2, 3}}; break;
      }
      // The first one is where the scan begins, and nothing comes before it: only its segment's end says that it is
      // wrong.
      EXPECT_EQ(on_device(*here, file, info, all, 3, index), Bytes{}) << number;
    }
    OneIndex index(fine);
    index.known = right.known;
    EXPECT_EQ(on_device(*here, file, info, all, 3, index), expected);
  }
}

/// Behind a restart marker nothing is left of predictors that were wrong before it.
TEST_F(JpegDecoderTest, AWrongEntryShowsBetweenRestartMarkersToo) {
  const auto here = decoder(3);
  for (const unsigned interval : {1u, 3u, 5u, 8u, 16u}) {
    const Bytes file = encode_jpeg({100, 200}, {.restart_interval = interval});
    const ImageInfo info = info_of(file);
    const OneIndex right = learn(file, true);
    const Rect crop{40, 135, 20, 30};  // MCUs 16 to 20 of rows 5 to 7, of 25 each
    ASSERT_FALSE(on_device(*here, file, info, crop, 3, right).empty());
    for (const std::size_t number : {5 * 4 + 2, 6 * 4 + 2, 7 * 4 + 2}) {
      OneIndex index = right;
      index.known.entries[number].dc[1] += 3;
      EXPECT_EQ(on_device(*here, file, info, crop, 3, index), Bytes{}) << interval << ", entry " << number;
    }
  }
}

/// Bytes of scans that were changed behind the back of their index. Of the whole picture the device makes what libjpeg
/// makes, or nothing; of a part, what the CPU makes by the same index.
TEST_F(JpegDecoderTest, DamageIsTheCpus) {
  const auto here = decoder(3);
  int refused = 0;
  int same = 0;
  for (int i = 0; i < 600; ++i) {
    const auto& [name, components, across, down] = kSamplings[i % 6];
    Bytes file = encode_jpeg({57, 131}, {.channels = components,
                                         .horizontal = across,
                                         .vertical = down,
                                         .restart_interval = i % 3 == 0 ? 4u : 0u,
                                         .seed = static_cast<std::uint32_t>(i)});
    OneIndex index = learn(file, i % 2 == 0);
    const std::size_t at = file.size() - static_cast<std::size_t>(pick(3, static_cast<int>(file.size()) / 2));
    file[at] ^= static_cast<std::uint8_t>(1 << pick(0, 7));
    const auto info = jpeg::inspect(file, {});
    if (!info.ok()) continue;
    const bool whole = pick(0, 1) != 0;
    const Rect region =
        whole ? Rect{0, 0, 57, 131} : any_region(info->stored, [this](int low, int high) { return pick(low, high); });
    const Bytes output = on_device(*here, file, *info, region, 3, index);
    if (output.empty()) {
      ++refused;
      continue;
    }
    ++same;
    ASSERT_EQ(output, on_cpu(file, *info, region, 3, whole ? nullptr : &index))
        << name << ", byte " << at << " of file " << i;
  }
  EXPECT_GT(refused, 100);
  EXPECT_GT(same, 100);
}

TEST_F(JpegDecoderTest, EntriesOfAnyKindAreNoFault) {
  const auto here = decoder(3);
  for (int i = 0; i < 60; ++i) {
    const Bytes file = encode_jpeg({57, 131}, {.restart_interval = i % 2 == 0 ? 0u : 5u});
    const ImageInfo info = info_of(file);
    OneIndex index = learn(file, i % 4 < 2);
    for (jpeg::IndexEntry& entry : index.known.entries) {
      const auto bit = static_cast<std::uint32_t>(pick(0, static_cast<int>(file.size()) * 9));
      entry = {static_cast<std::uint16_t>(bit >> 16), static_cast<std::uint16_t>(bit), {}};
      for (std::int16_t& dc : entry.dc) dc = static_cast<std::int16_t>(random_());
    }
    EXPECT_EQ(on_device(*here, file, info, {0, 0, 57, 131}, 3, index), Bytes{});
  }
}

}  // namespace
}  // namespace drapps::device
