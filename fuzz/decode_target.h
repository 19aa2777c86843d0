// What every picture format must hold for any bytes at all: no fault, one verdict and one set of pixels whatever the
// region is, whatever was decoded before.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>

#include "drapps/decode/decoder.h"
#include "drapps/decode/sniff.h"

namespace drapps::fuzz {

inline void require(bool holds) {
  if (!holds) std::abort();
}

/// A number that depends on the input alone.
class Choice {
 public:
  explicit Choice(std::span<const std::uint8_t> bytes) {
    for (const std::uint8_t byte : bytes) state_ = (state_ ^ byte) * 0x100000001B3u;
  }
  /// Somewhere in [0, end).
  std::int32_t below(std::int32_t end) {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    return static_cast<std::int32_t>((state_ >> 33) % static_cast<std::uint64_t>(end));
  }

 private:
  std::uint64_t state_ = 0xCBF29CE484222325u;
};

/// One input for LLVMFuzzerTestOneInput. Inputs of another format than `format` are not kept.
inline int try_bytes(ImageFormat format, std::span<const std::uint8_t> bytes) {
  static Decoder decoder(MemoryLedger::unlimited());
  static ImageBuffer whole_buffer(MemoryLedger::unlimited()), part_buffer(MemoryLedger::unlimited());

  const Result<ImageFormat> sniffed = sniff(bytes);
  if (!sniffed.ok() || *sniffed != format) return -1;
  Choice choice(bytes);
  const DecodeOptions options{.color = choice.below(4) == 0 ? ColorMode::kGray : ColorMode::kRgb,
                              .exif = choice.below(2) == 0 ? ExifMode::kApply : ExifMode::kIgnore,
                              .depth = choice.below(2) == 0 ? DepthMode::kClip : DepthMode::kScale,
                              .max_pixels = 1 << 16};
  const Result<ImageInfo> info = decoder.inspect(bytes, options);
  if (!info.ok()) return 0;

  const Rect all{0, 0, info->extent.height, info->extent.width};
  const Result<ImageView> whole = decoder.decode(bytes, *info, all, options, whole_buffer);
  for (int i = 0; i < 2; ++i) {
    Rect region{choice.below(all.height), choice.below(all.width), 0, 0};
    region.height = 1 + choice.below(all.height - region.top);
    region.width = 1 + choice.below(all.width - region.left);
    const Result<ImageView> part = decoder.decode(bytes, *info, region, options, part_buffer);
    require(part.ok() == whole.ok());
    if (!part.ok()) continue;
    const ImageView expected = whole->crop(region);
    for (std::int32_t c = 0; c < part->channels; ++c) {
      for (std::int32_t y = 0; y < part->height; ++y) {
        require(std::memcmp(part->row(c, y), expected.row(c, y), static_cast<std::size_t>(part->width)) == 0);
      }
    }
  }
  return 0;
}

}  // namespace drapps::fuzz
