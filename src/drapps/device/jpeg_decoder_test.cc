// JPEGs decoded on the host device, against the decoder of the CPU and libjpeg-turbo: byte for byte.
#include "drapps/device/jpeg_decoder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "drapps/decode/jpeg/coefficients.h"
#include "drapps/decode/jpeg/reader_testing.h"
#include "drapps/decode/jpeg/structure.h"
#include "drapps/decode/testing.h"
#include "drapps/device/host/host_device.h"

namespace drapps::device {
namespace {

using drapps::testing::Bytes;
using drapps::testing::encode_jpeg;
using drapps::testing::JpegOptions;
using drapps::testing::pixels_of;
using jpeg::testing::any_region;
using jpeg::testing::kSamplings;
using jpeg::testing::OneIndex;

/// One picture that was asked for, and what the CPU makes of it.
struct Asked {
  Bytes expected;
  Rect region;
};

class JpegDecoderTest : public ::testing::Test {
 protected:
  int pick(int low, int high) { return std::uniform_int_distribution(low, high)(random_); }

  static ImageInfo info_of(const Bytes& file) { return jpeg::inspect(file, {}).value(); }

  /// What the CPU makes of a region; `index` learns of it.
  Bytes on_cpu(const Bytes& file, const ImageInfo& info, const Rect& region, std::int32_t channels,
               OneIndex* index = nullptr) {
    const ImageView out = image_.reshape(channels, region.height, region.width).value();
    const jpeg::IndexUse use{index, {}, nullptr};
    EXPECT_TRUE(reader_.read(file, info, region, out, index == nullptr ? nullptr : &use).ok());
    return pixels_of(out);
  }

  OneIndex learn(const Bytes& file, bool fine) {
    OneIndex index(fine);
    const ImageInfo info = info_of(file);
    on_cpu(file, info, {0, 0, info.stored.height, info.stored.width}, 3, &index);
    EXPECT_TRUE(index.complete());
    return index;
  }

  std::unique_ptr<JpegDecoder> decoder(std::int32_t channels, const JpegBounds& bounds = {}) {
    return JpegDecoder::make(device_, MemoryLedger::unlimited(), channels, bounds).value();
  }

  void run(JpegDecoder& decoder) {
    ASSERT_TRUE(decoder.launch(*stream_).ok());
    ASSERT_TRUE(stream_->record(*event_).ok());
    ASSERT_TRUE(event_->wait().ok());
  }

  /// As pixels_of() has them.
  Bytes pixels(const JpegDecoder& decoder, std::size_t i, std::int32_t channels) {
    const auto [first, extent, row_bytes] = decoder.pixels(i);
    const auto size = static_cast<std::size_t>(extent.height * row_bytes);
    const Memory host = device_.allocate(Where::kPinned, size).value();
    EXPECT_TRUE(stream_->copy_out(host.data(), reinterpret_cast<const std::byte*>(first), size).ok());
    EXPECT_TRUE(stream_->record(*event_).ok());
    EXPECT_TRUE(event_->wait().ok());
    Bytes made;
    for (std::int32_t c = 0; c < channels; ++c) {
      for (std::int32_t y = 0; y < extent.height; ++y) {
        for (std::int32_t x = 0; x < extent.width; ++x) {
          made.push_back(static_cast<std::uint8_t>(host.data()[y * row_bytes + x * channels + c]));
        }
      }
    }
    return made;
  }

  /// One picture alone. Empty where the device says that it is the CPU's.
  Bytes on_device(JpegDecoder& decoder, const Bytes& file, const ImageInfo& info, const Rect& region,
                  std::int32_t channels, const OneIndex& index) {
    OneIndex known = index;
    decoder.clear();
    const auto taken = decoder.add(file, info, region, {&known, {}, nullptr});
    EXPECT_TRUE(taken.ok()) << taken.error().message;
    if (*taken != JpegTaken::kTaken) return {};
    run(decoder);
    return decoder.right(0) ? pixels(decoder, 0, channels) : Bytes{};
  }

  HostDevice device_;
  std::unique_ptr<Stream> stream_ = device_.stream().value();
  std::unique_ptr<Event> event_ = device_.event().value();
  jpeg::JpegReader reader_{MemoryLedger::unlimited()};
  ImageBuffer image_{MemoryLedger::unlimited()};
  std::mt19937 random_{11};
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
        const Bytes made = on_device(*here, file, info, crop, 3, learnt);
        ASSERT_TRUE(made.empty() || made == expected);
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
    const Bytes made = on_device(*here, file, *info, region, 3, index);
    if (made.empty()) {
      ++refused;
      continue;
    }
    ++same;
    ASSERT_EQ(made, on_cpu(file, *info, region, 3, whole ? nullptr : &index))
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
