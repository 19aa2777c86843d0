// JPEGs decoded on a device against the CPU's decoder, for any bytes: by the index that the CPU learns of the file, and
// of its coefficients, the device makes the same pixels or refuses; by a wrong one it is no fault, and the whole
// picture is still right or refused. An input that is no JPEG is the entropy-coded data of one (jpeg_scan.h).
#include <array>
#include <memory>
#include <optional>
#include <vector>

#include "decode_target.h"
#include "drapps/decode/jpeg/coefficients.h"
#include "drapps/decode/jpeg/reader_testing.h"
#include "drapps/device/host/host_device.h"
#include "drapps/device/jpeg_decoder.h"
#include "jpeg_scan.h"

namespace drapps::fuzz {
namespace {

using device::JpegDecoder;
using device::JpegTaken;
using jpeg::testing::OneIndex;

constexpr device::JpegBounds kBounds{.input = 1 << 20, .work = 1 << 22};

/// A device with one stream, and the CPU beside it.
class Both {
 public:
  explicit Both(std::int32_t channels)
      : channels_(channels),
        decoder_(JpegDecoder::make(device_, MemoryLedger::unlimited(), channels, kBounds).value()) {}

  /// Takes a JPEG, and what the CPU learns of it. False for one that libjpeg refuses.
  bool open(std::span<const std::uint8_t> bytes, const ImageInfo& info, OneIndex& index) {
    bytes_ = bytes;
    info_ = info;
    return on_cpu({0, 0, info.stored.height, info.stored.width}, index).has_value();
  }

  /// Where the device makes pixels of a region, they are the CPU's.
  /// @param compared  false: they may be any.
  void try_region(const Rect& region, const OneIndex& index, bool compared = true) {
    try_file(bytes_, info_, region, index, compared);
  }
  /// The same of the JPEG's coefficients, where they can be had.
  void try_form(const Rect& region) {
    if (info_.luma || !transcoder_.transcode(bytes_, form_).ok()) return;
    const Result<ImageInfo> info = jpeg::inspect_coefficients(form_, {});
    require(info.ok());
    try_file(form_, *info, region, OneIndex(true), true);
  }

 private:
  std::optional<ImageView> on_cpu(const Rect& region, OneIndex& index) {
    const ImageView out = image_.reshape(channels_, region.height, region.width).value();
    const jpeg::IndexUse use{&index, {}, nullptr};
    if (!reader_.read(bytes_, info_, region, out, &use).ok()) return std::nullopt;
    return out;
  }

  void try_file(std::span<const std::uint8_t> bytes, const ImageInfo& info, const Rect& region, OneIndex index,
                bool compared) {
    decoder_->clear();
    const auto taken = decoder_->add(bytes, info, region, {&index, {}, nullptr});
    require(taken.ok() && *taken != JpegTaken::kFull);
    if (*taken != JpegTaken::kTaken) return;
    require(decoder_->launch(*stream_).ok() && stream_->record(*event_).ok() && event_->wait().ok());
    if (!decoder_->right(0) || !compared) return;
    // The host device's memory is the host's.
    const auto [first, extent, row_bytes] = decoder_->pixels(0);
    OneIndex none(true);
    const std::optional<ImageView> expected = on_cpu(region, none);
    require(expected.has_value());
    for (std::int32_t y = 0; y < region.height; ++y) {
      for (std::int32_t x = 0; x < region.width; ++x) {
        for (std::int32_t c = 0; c < channels_; ++c) {
          require(first[y * row_bytes + x * channels_ + c] == expected->row(c, y)[x]);
        }
      }
    }
  }

  const std::int32_t channels_;
  device::HostDevice device_;
  std::unique_ptr<device::Stream> stream_ = device_.stream().value();
  std::unique_ptr<device::Event> event_ = device_.event().value();
  std::unique_ptr<JpegDecoder> decoder_;
  jpeg::JpegReader reader_{MemoryLedger::unlimited()};
  ImageBuffer image_{MemoryLedger::unlimited()};
  jpeg::Transcoder transcoder_{MemoryLedger::unlimited()};
  std::vector<std::uint8_t> form_;
  std::span<const std::uint8_t> bytes_;
  ImageInfo info_;
};

void spoil(std::vector<jpeg::IndexEntry>& entries, Choice& choice) {
  jpeg::IndexEntry& entry = entries[static_cast<std::size_t>(choice.below(static_cast<std::int32_t>(entries.size())))];
  switch (choice.below(3)) {
    case 0: entry.bit_low = static_cast<std::uint16_t>(choice.below(1 << 16)); break;
    case 1: entry.bit_high = static_cast<std::uint16_t>(choice.below(1 << 16)); break;
    default: entry.dc[choice.below(3)] = static_cast<std::int16_t>(choice.below(1 << 16)); break;
  }
}

void compare(std::span<const std::uint8_t> bytes) {
  static std::array<Both, 2> both{Both(1), Both(3)};
  Choice choice(bytes);
  Both& one = both[choice.below(4) == 0 ? 0 : 1];
  Result<ImageInfo> info = jpeg::inspect(bytes, {.max_pixels = 1 << 16});
  if (!info.ok() || info->irregular) return;
  info->luma = choice.below(8) == 0;
  const Rect whole{0, 0, info->stored.height, info->stored.width};
  OneIndex index(choice.below(2) == 0);
  if (!one.open(bytes, *info, index)) return;
  one.try_region(whole, index);
  one.try_form(whole);
  for (int i = 0; i < 3; ++i) {
    const Rect region =
        jpeg::testing::any_region(info->stored, [&](int low, int high) { return low + choice.below(high - low + 1); });
    one.try_region(region, index);
    one.try_form(region);
    if (index.known.entries.empty()) continue;
    OneIndex part = index;
    part.known.entries.resize(
        static_cast<std::size_t>(1 + choice.below(static_cast<std::int32_t>(part.known.entries.size()))));
    one.try_region(region, part);
    OneIndex spoiled = index;
    spoil(spoiled.known.entries, choice);
    one.try_region(whole, spoiled);
    one.try_region(region, spoiled, false);
  }
}

}  // namespace
}  // namespace drapps::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 3) return -1;
  if (data[0] != 0xFF || data[1] != 0xD8) {
    drapps::fuzz::compare(drapps::fuzz::file_of_scan({data, size}));
  } else {
    drapps::fuzz::compare({data, size});
  }
  return 0;
}
