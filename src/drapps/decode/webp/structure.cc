#include "drapps/decode/webp/structure.h"

#include <cstddef>
#include <memory>
#include <utility>

#include <webp/demux.h>

#include "drapps/decode/check.h"
#include "drapps/decode/exif.h"

namespace drapps::webp {
namespace {

constexpr std::size_t kFileHeader = 12;
constexpr std::size_t kChunkHeader = 8;

using Demuxer = std::unique_ptr<WebPDemuxer, decltype(&WebPDemuxDelete)>;

/// What the first chunk of that name says of the orientation.
template <class Reader>
std::uint32_t orientation_of(const Demuxer& demuxer, const char (&name)[5], const Reader& reader) {
  WebPChunkIterator chunk{};
  std::uint32_t value = 0;
  if (WebPDemuxGetChunk(demuxer.get(), name, 1, &chunk) != 0) value = reader({chunk.chunk.bytes, chunk.chunk.size});
  WebPDemuxReleaseChunkIterator(&chunk);
  return value;
}

/// The size that the RIFF header claims for the whole file.
std::size_t claimed_size(std::span<const std::uint8_t> bytes) {
  std::size_t size = 0;
  for (std::size_t i = 0; i < 4; ++i) size |= std::size_t{bytes[4 + i]} << 8 * i;
  return size + 8;
}

}  // namespace

Result<WebpPicture> read_structure(std::span<const std::uint8_t> bytes, const DecodeOptions& options) {
  if (bytes.size() < kFileHeader + kChunkHeader || claimed_size(bytes) > bytes.size()) {
    return decode_error(ErrorCode::kTruncated, "the WebP ends before its RIFF header says; fetch the file again",
                        static_cast<std::int64_t>(bytes.size()));
  }
  const WebPData data{bytes.data(), bytes.size()};
  const Demuxer demuxer(WebPDemux(&data), &WebPDemuxDelete);
  WebPIterator frame{};
  const bool has_frame = demuxer != nullptr && WebPDemuxGetFrame(demuxer.get(), 1, &frame) != 0;
  WebpPicture picture;
  if (has_frame) {
    picture.canvas = {static_cast<std::int32_t>(WebPDemuxGetI(demuxer.get(), WEBP_FF_CANVAS_HEIGHT)),
                      static_cast<std::int32_t>(WebPDemuxGetI(demuxer.get(), WEBP_FF_CANVAS_WIDTH))};
    picture.frame = {frame.y_offset, frame.x_offset, frame.height, frame.width};
    picture.data = {frame.fragment.bytes, frame.fragment.size};
    picture.alpha = frame.has_alpha != 0;
  }
  WebPDemuxReleaseIterator(&frame);
  if (!has_frame) {
    return decode_error(ErrorCode::kCorrupt, "the WebP's chunks contradict each other; the file is damaged",
                        kFileHeader);
  }
  DRAPPS_RETURN_IF_ERROR(check_extent(picture.canvas, options, kFileHeader));
  if (options.exif == ExifMode::kApply) {
    picture.orientation = effective_orientation(orientation_of(demuxer, "EXIF", exif_orientation),
                                                orientation_of(demuxer, "XMP ", xmp_orientation));
  }
  return picture;
}

Result<ImageInfo> inspect(std::span<const std::uint8_t> bytes, const DecodeOptions& options) {
  const Result<WebpPicture> picture = read_structure(bytes, options);
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
