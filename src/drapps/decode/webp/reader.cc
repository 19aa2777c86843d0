#include "drapps/decode/webp/reader.h"

#include <algorithm>
#include <cstddef>
#include <cstring>

#include <webp/decode.h>

#include "drapps/decode/rows.h"
#include "drapps/decode/webp/structure.h"

namespace drapps::webp {
namespace {

/// Pixels of the frame, four bytes each with alpha, three without.
Status decode_frame(const WebpPicture& picture, std::uint8_t* pixels, std::size_t stride) {
  WebPDecoderConfig config;
  if (WebPInitDecoderConfig(&config) == 0) {
    return decode_error(ErrorCode::kUnsupported, "the installed libwebp is not the one drapps was built for");
  }
  config.output.colorspace = picture.alpha ? MODE_RGBA : MODE_RGB;
  config.output.is_external_memory = 1;
  config.output.u.RGBA.rgba = pixels;
  config.output.u.RGBA.stride = static_cast<int>(stride);
  config.output.u.RGBA.size = stride * static_cast<std::size_t>(picture.frame.height);
  const VP8StatusCode status = WebPDecode(picture.data.data(), picture.data.size(), &config);
  WebPFreeDecBuffer(&config.output);
  switch (status) {
    case VP8_STATUS_OK: return ok_status();
    case VP8_STATUS_OUT_OF_MEMORY:
      return decode_error(ErrorCode::kResourceExhausted, "the system has no memory left for libwebp");
    case VP8_STATUS_NOT_ENOUGH_DATA:
    case VP8_STATUS_SUSPENDED:
      return decode_error(ErrorCode::kTruncated, "the WebP ends before its picture is complete; fetch the file again");
    case VP8_STATUS_UNSUPPORTED_FEATURE:
      return decode_error(ErrorCode::kUnsupported, "a WebP of a kind that libwebp does not read; convert it");
    default: return decode_error(ErrorCode::kCorrupt, "the WebP's picture data is damaged; fetch the file again");
  }
}

}  // namespace

Status read(std::span<const std::uint8_t> bytes, const ImageInfo& info, const Rect& region,
            const DecodeOptions& options, Arena& arena, const ImageView& out) {
  const Result<WebpPicture> picture = read_structure(bytes, options);
  if (!picture.ok()) return picture.error();
  if (picture->canvas != info.stored) {
    return decode_error(ErrorCode::kCorrupt, "the WebP has changed since it was inspected; inspect it again");
  }
  arena.rewind();
  const Rect& frame = picture->frame;
  const std::size_t pixel = picture->alpha ? 4 : 3;
  const std::size_t stride = pixel * static_cast<std::size_t>(frame.width);
  auto* pixels = static_cast<std::uint8_t*>(arena.allocate(stride * static_cast<std::size_t>(frame.height)));
  if (pixels == nullptr) return arena.error();
  DRAPPS_RETURN_IF_ERROR(decode_frame(*picture, pixels, stride));

  const std::int32_t left = std::max(region.left, frame.left);
  const std::int32_t right = std::min(region.left + region.width, frame.left + frame.width);
  for (std::int32_t y = 0; y < region.height; ++y) {
    const std::int32_t row = region.top + y - frame.top;
    const bool covered = row >= 0 && row < frame.height && left < right;
    if (!covered || right - left < region.width) {
      for (std::int32_t c = 0; c < out.channels; ++c)
        std::memset(out.row(c, y), 0, static_cast<std::size_t>(out.width));
    }
    if (!covered) continue;
    const std::uint8_t* source =
        pixels + stride * static_cast<std::size_t>(row) + pixel * static_cast<std::size_t>(left - frame.left);
    const ImageView part = out.crop({0, left - region.left, region.height, right - left});
    picture->alpha ? store_rgba(part, y, source) : store_rgb(part, y, source);
  }
  return ok_status();
}

}  // namespace drapps::webp
