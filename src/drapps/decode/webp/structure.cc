#include "drapps/decode/webp/structure.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string_view>
#include <utility>

#include <webp/decode.h>

#include "drapps/decode/check.h"
#include "drapps/decode/exif.h"

namespace drapps::webp {
namespace {

constexpr std::size_t kFileHeader = 12;
constexpr std::size_t kChunkHeader = 8;
constexpr std::size_t kFrameHeader = 16;

std::uint32_t number(std::span<const std::uint8_t> bytes, std::size_t at, unsigned size) {
  std::uint32_t value = 0;
  for (unsigned i = 0; i < size; ++i) value |= std::uint32_t{bytes[at + i]} << 8 * i;
  return value;
}

Error corrupt(const char* message, std::size_t at) {
  return decode_error(ErrorCode::kCorrupt, message, static_cast<std::int64_t>(at));
}

Error truncated(std::span<const std::uint8_t> bytes) {
  return decode_error(ErrorCode::kTruncated, "the WebP ends before its RIFF header says; fetch the file again",
                      static_cast<std::int64_t>(bytes.size()));
}

/// Width, height and alpha of a still picture, or of one frame's chunks.
Status read_features(std::span<const std::uint8_t> data, std::size_t at, Extent& extent, bool& alpha, bool& animated) {
  WebPBitstreamFeatures features;
  const VP8StatusCode status = WebPGetFeatures(data.data(), data.size(), &features);
  if (status == VP8_STATUS_NOT_ENOUGH_DATA) {
    return decode_error(ErrorCode::kTruncated, "the WebP's picture ends within its header; fetch the file again",
                        static_cast<std::int64_t>(at + data.size()));
  }
  if (status != VP8_STATUS_OK) return corrupt("the WebP's header contradicts itself; the file is damaged", at);
  extent = {features.height, features.width};
  alpha = features.has_alpha != 0;
  animated = features.has_animation != 0;
  return ok_status();
}

class Walk {
 public:
  Walk(std::span<const std::uint8_t> bytes, const DecodeOptions& options) : bytes_(bytes), options_(options) {}

  Result<Picture> run() {
    if (bytes_.size() < kFileHeader + kChunkHeader) return truncated(bytes_);
    const std::size_t end = std::size_t{number(bytes_, 4, 4)} + 8;
    if (end > bytes_.size()) return truncated(bytes_);
    if (end < kFileHeader + kChunkHeader) return corrupt("the RIFF header leaves no room for a picture", 4);
    bytes_ = bytes_.first(end);
    bool animated = false;
    DRAPPS_RETURN_IF_ERROR(read_features(bytes_, 0, picture_.canvas, picture_.alpha, animated));
    DRAPPS_RETURN_IF_ERROR(check_extent(picture_.canvas, options_, kFileHeader));
    picture_.frame = {0, 0, picture_.canvas.height, picture_.canvas.width};
    picture_.data = bytes_;
    DRAPPS_RETURN_IF_ERROR(read_chunks(animated));
    if (options_.exif == ExifMode::kApply) picture_.orientation = effective_orientation(exif_, xmp_);
    return picture_;
  }

 private:
  Status read_chunks(bool animated) {
    bool has_frame = !animated;
    for (std::size_t at = kFileHeader; bytes_.size() - at >= kChunkHeader;) {
      const std::string_view name(reinterpret_cast<const char*>(&bytes_[at]), 4);
      const std::size_t size = number(bytes_, at + 4, 4);
      at += kChunkHeader;
      if (size > bytes_.size() - at)
        return corrupt("a chunk reaches beyond the RIFF data; the file is damaged", at - 4);
      const std::span<const std::uint8_t> body = bytes_.subspan(at, size);
      if (name == "EXIF" && exif_ == 0) exif_ = exif_orientation(body);
      if (name == "XMP " && xmp_ == 0) xmp_ = xmp_orientation(body);
      if (name == "ANMF" && !has_frame) {
        DRAPPS_RETURN_IF_ERROR(read_frame(body, at));
        has_frame = true;
      }
      at += std::min(size + (size & 1), bytes_.size() - at);
    }
    if (!has_frame) return corrupt("an animated WebP without frames; the file is damaged", bytes_.size());
    return ok_status();
  }

  Status read_frame(std::span<const std::uint8_t> body, std::size_t at) {
    if (body.size() < kFrameHeader) return corrupt("a frame header is too short; the file is damaged", at);
    picture_.data = body.subspan(kFrameHeader);
    Extent extent;
    bool nested = false;
    DRAPPS_RETURN_IF_ERROR(read_features(picture_.data, at + kFrameHeader, extent, picture_.alpha, nested));
    const auto field = [&](std::size_t place) { return static_cast<std::int32_t>(number(body, place, 3)); };
    picture_.frame = {2 * field(3), 2 * field(0), field(9) + 1, field(6) + 1};
    if (nested || extent != Extent{picture_.frame.height, picture_.frame.width} ||
        !check_region(picture_.frame, picture_.canvas).ok()) {
      return corrupt("a frame does not fit its canvas; the file is damaged", at);
    }
    return ok_status();
  }

  std::span<const std::uint8_t> bytes_;
  const DecodeOptions& options_;
  Picture picture_;
  std::uint32_t exif_ = 0, xmp_ = 0;
};

}  // namespace

Result<Picture> read_structure(std::span<const std::uint8_t> bytes, const DecodeOptions& options) {
  return Walk(bytes, options).run();
}

Result<ImageInfo> inspect(std::span<const std::uint8_t> bytes, const DecodeOptions& options) {
  const Result<Picture> picture = read_structure(bytes, options);
  if (!picture.ok()) return picture.error();
  ImageInfo info{.format = ImageFormat::kWebp,
                 .extent = picture->canvas,
                 .stored = picture->canvas,
                 .orientation = picture->orientation,
                 .irregular = true};
  if (info.orientation >= 5) std::swap(info.extent.height, info.extent.width);
  return info;
}

}  // namespace drapps::webp
