#include "drapps/decode/decoder.h"

#include <utility>

#include "drapps/decode/check.h"
#include "drapps/decode/jpeg/reader.h"
#include "drapps/decode/jpeg/structure.h"
#include "drapps/decode/orient.h"
#include "drapps/decode/sniff.h"

namespace drapps {

struct Decoder::State {
  explicit State(MemoryLedger& ledger) : jpeg(ledger), stored(ledger) {}

  jpeg::Reader jpeg;
  ImageBuffer stored;  // the picture before it is turned upright
};

Decoder::Decoder(MemoryLedger& ledger) : state_(std::make_unique<State>(ledger)) {}
Decoder::~Decoder() = default;

Result<ImageInfo> Decoder::inspect(std::span<const std::uint8_t> bytes, const DecodeOptions& options) {
  const Result<ImageFormat> format = sniff(bytes);
  if (!format.ok()) return format.error();
  switch (*format) {
    case ImageFormat::kJpeg: return jpeg::inspect(bytes, options);
    case ImageFormat::kPng:
    case ImageFormat::kWebp: break;
  }
  return decode_error(ErrorCode::kUnsupported, "PNG and WebP are not read yet");
}

Result<ImageView> Decoder::decode(std::span<const std::uint8_t> bytes, const ImageInfo& info, const Rect& region,
                                  const DecodeOptions& options, ImageBuffer& out) {
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
  DRAPPS_RETURN_IF_ERROR(state_->jpeg.read(bytes, info, part, target));
  if (info.orientation != 1) orient(*upright, target, info.orientation);
  return upright;
}

void Decoder::reset() noexcept {
  state_->jpeg.reset();
  state_->stored.reset();
}

}  // namespace drapps
