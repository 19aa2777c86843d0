#include "drapps/decode/decoder.h"

#include <utility>

#include "drapps/decode/check.h"
#include "drapps/decode/jpeg/coefficients.h"
#include "drapps/decode/jpeg/reader.h"
#include "drapps/decode/jpeg/structure.h"
#include "drapps/decode/orient.h"
#include "drapps/decode/png/reader.h"
#include "drapps/decode/png/structure.h"
#include "drapps/decode/sniff.h"
#include "drapps/decode/webp/reader.h"
#include "drapps/decode/webp/structure.h"

namespace drapps {

struct Decoder::DecoderState {
  DecoderState(MemoryLedger& ledger, kernel::Level level)
      : jpeg(ledger, level), coefficients(ledger, level), arena(ledger), stored(ledger) {}

  Status read(std::span<const std::uint8_t> bytes, const ImageInfo& info, const Rect& part,
              const DecodeOptions& options, const ImageView& out, const jpeg::IndexUse* memory);

  jpeg::JpegReader jpeg;
  jpeg::CoefficientDecoder coefficients;
  Arena arena;         // for PNG and WebP
  ImageBuffer stored;  // the picture before it is turned upright
};

Decoder::Decoder(MemoryLedger& ledger, kernel::Level level) : state_(std::make_unique<DecoderState>(ledger, level)) {}
Decoder::~Decoder() = default;

Result<ImageInfo> Decoder::inspect(std::span<const std::uint8_t> bytes, const DecodeOptions& options) {
  const Result<ImageFormat> format = sniff(bytes);
  if (!format.ok()) return format.error();
  if (*format != ImageFormat::kPng && options.color == ColorMode::kIndices) {
    return decode_error(ErrorCode::kUnsupported,
                        "a mask must be a palette or gray PNG, which keeps class ids as they are");
  }
  switch (*format) {
    case ImageFormat::kJpeg: {
      Result<ImageInfo> info = jpeg::inspect(bytes, options);
      if (info.ok()) info->cmyk = options.cmyk;
      return info;
    }
    case ImageFormat::kPng: return png::inspect(bytes, options);
    case ImageFormat::kCoefficients: return jpeg::inspect_coefficients(bytes, options);
    case ImageFormat::kWebp: break;
  }
  return webp::inspect(bytes, options);
}

Status Decoder::DecoderState::read(std::span<const std::uint8_t> bytes, const ImageInfo& info, const Rect& part,
                                   const DecodeOptions& options, const ImageView& out, const jpeg::IndexUse* memory) {
  switch (info.format) {
    case ImageFormat::kJpeg: return jpeg.read(bytes, info, part, out, memory);
    case ImageFormat::kPng: return png::read(bytes, info, part, options, arena, out);
    case ImageFormat::kCoefficients: return coefficients.read(bytes, info, part, out);
    case ImageFormat::kWebp: break;
  }
  return webp::read(bytes, info, part, options, arena, out);
}

Result<ImageView> Decoder::decode(std::span<const std::uint8_t> bytes, const ImageInfo& info, const Rect& region,
                                  const DecodeOptions& options, ImageBuffer& out, const jpeg::IndexUse* memory) {
  DRAPPS_RETURN_IF_ERROR(check_region(region, info.extent));
  const std::int32_t channels = options.color == ColorMode::kRgb ? 3 : 1;
  Result<ImageView> upright = out.reshape(channels, region.height, region.width);
  if (!upright.ok()) return upright;
  const Rect part = stored_region(region, info.stored, info.orientation);
  ImageView target = *upright;
  if (info.orientation != 1) {
    Result<ImageView> stored = state_->stored.reshape(channels, part.height, part.width);
    if (!stored.ok()) return stored;
    target = *stored;
  }
  DRAPPS_RETURN_IF_ERROR(state_->read(bytes, info, part, options, target, memory));
  if (info.orientation != 1) orient(*upright, target, info.orientation);
  return upright;
}

Result<std::optional<SoundJpeg>> Decoder::judge(std::span<const std::uint8_t> bytes) {
  const Result<ImageFormat> format = sniff(bytes);
  if (!format.ok() || *format != ImageFormat::kJpeg) return std::optional<SoundJpeg>();
  const Result<ImageInfo> info = jpeg::inspect(bytes, {});
  if (!info.ok() || info->irregular) return std::optional<SoundJpeg>();
  const Result<std::int32_t> channels = state_->jpeg.channels_for_certain(bytes, *info);
  if (!channels.ok()) return channels.error();
  if (*channels == 0) return std::optional<SoundJpeg>();
  return std::optional(SoundJpeg{*info, *channels});
}

void Decoder::reset() noexcept {
  state_->jpeg.reset();
  state_->coefficients.reset();
  state_->arena.reset();
  state_->stored.reset();
}

}  // namespace drapps
