// What the tests of JpegDecoder share: the same pictures decoded on the host device and by the CPU.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>

#include "drapps/decode/jpeg/reader_testing.h"
#include "drapps/decode/jpeg/structure.h"
#include "drapps/decode/testing.h"
#include "drapps/device/host/host_device.h"
#include "drapps/device/jpeg_decoder.h"

namespace drapps::device::jpeg_decoder_testing {

using drapps::testing::Bytes;
using drapps::testing::pixels_of;
using jpeg::testing::OneIndex;

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
    Bytes bytes;
    for (std::int32_t c = 0; c < channels; ++c) {
      for (std::int32_t y = 0; y < extent.height; ++y) {
        for (std::int32_t x = 0; x < extent.width; ++x) {
          bytes.push_back(static_cast<std::uint8_t>(host.data()[y * row_bytes + x * channels + c]));
        }
      }
    }
    return bytes;
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

}  // namespace drapps::device::jpeg_decoder_testing
