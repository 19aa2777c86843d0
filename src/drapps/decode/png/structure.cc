#include "drapps/decode/png/structure.h"

#include <algorithm>
#include <limits>
#include <string>
#include <string_view>
#include <utility>

#include "drapps/decode/check.h"
#include "drapps/decode/crc32.h"
#include "drapps/decode/exif.h"
#include "drapps/decode/png/text.h"

namespace drapps::png {
namespace {

constexpr std::size_t kSignature = 8;
constexpr std::size_t kChunkHeader = 8;
constexpr std::size_t kChecksum = 4;
constexpr std::size_t kSequence = 4;  // the number before the data of an animation's frame

std::uint32_t number(std::span<const std::uint8_t> bytes, std::size_t at) {
  return std::uint32_t{bytes[at]} << 24 | std::uint32_t{bytes[at + 1]} << 16 | std::uint32_t{bytes[at + 2]} << 8 |
         bytes[at + 3];
}

bool is_name(std::uint32_t type) {
  for (int shift = 0; shift < 32; shift += 8) {
    const auto c = static_cast<char>(type >> shift & 0xFF);
    const bool word = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
    if (!word) return false;
  }
  return true;
}

std::string name_of(std::uint32_t type) {
  std::string name;
  for (int shift = 24; shift >= 0; shift -= 8) name.push_back(static_cast<char>(type >> shift & 0xFF));
  return name;
}

/// Shortest body of a chunk that Pillow reads.
std::size_t least_length(std::uint32_t type, const PngHeader& header) {
  switch (type) {
    case chunk_type("IHDR"): return 13;
    case chunk_type("tRNS"): return header.color_type == 2 ? 6 : header.color_type == 0 ? 2 : 0;
    case chunk_type("gAMA"): return 4;
    case chunk_type("cHRM"): return 32;
    case chunk_type("sRGB"): return 1;
    case chunk_type("pHYs"): return 9;
    case chunk_type("acTL"): return 8;
    case chunk_type("fcTL"): return 26;
    case chunk_type("fdAT"): return kSequence;
    default: return 0;
  }
}

/// Whether a chunk behind the first data may go on with the picture.
bool is_data(std::uint32_t type) {
  return type == chunk_type("IDAT") || type == chunk_type("fdAT") || type == chunk_type("DDAT");
}

class PngWalk {
 public:
  PngWalk(std::span<const std::uint8_t> bytes, const DecodeOptions& options) : bytes_(bytes), options_(options) {}

  Result<PngHeader> run() {
    DRAPPS_RETURN_IF_ERROR(before_data());
    DRAPPS_RETURN_IF_ERROR(behind_data());
    if (options_.exif == ExifMode::kApply) header_.orientation = effective_orientation(exif_, xmp_);
    return header_;
  }

 private:
  static Error corrupt(std::string message, std::size_t at) {
    return decode_error(ErrorCode::kCorrupt, std::move(message), static_cast<std::int64_t>(at));
  }
  Error truncated(const std::string& where) const {
    return decode_error(ErrorCode::kTruncated, "the PNG ends within " + where + "; fetch the file again",
                        static_cast<std::int64_t>(bytes_.size()));
  }

  Status before_data() {
    for (std::size_t at = kSignature;;) {
      const std::optional<Chunk> chunk = chunk_at(bytes_, at);
      if (!chunk) return truncated("its header");
      if (!is_name(chunk->type)) return corrupt("no PNG chunk where one should begin; the file is damaged", at);
      if (chunk->type == chunk_type("fdAT")) DRAPPS_RETURN_IF_ERROR(in_sequence(*chunk));
      // Data in front of the header are a chunk like any other.
      if ((chunk->type == chunk_type("IDAT") && header_.depth != 0) || chunk->type == chunk_type("fdAT")) {
        header_.data_at = at;
        break;
      }
      if (chunk->type == chunk_type("IEND")) return corrupt("the PNG holds no picture; the file is damaged", at);
      DRAPPS_RETURN_IF_ERROR(read(*chunk));
      at = chunk->at + chunk->length;
      if (bytes_.size() - at < kChecksum) return truncated("chunk " + name_of(chunk->type));
      if (crc32(bytes_.subspan(chunk->at - 4, 4 + std::size_t{chunk->length})) != number(bytes_, at)) {
        return corrupt("chunk " + name_of(chunk->type) + " has a wrong checksum; the file is damaged", at);
      }
      at += kChecksum;
    }
    if (header_.depth == 0) return corrupt("the PNG has no valid header; the file is damaged", kSignature);
    if (header_.depth == 16 && options_.depth == DepthMode::kRaise) {
      return decode_error(ErrorCode::kUnsupported,
                          "a PNG of 16 bits per channel; say depth=\"clip\" (as Pillow's convert) or depth=\"scale\" "
                          "(the high byte)",
                          static_cast<std::int64_t>(kSignature + kChunkHeader));
    }
    // A frame that begins and ends at the left edge means none, and data outside of any frame are one more picture.
    const bool whole = !frame_ || (frame_->left == 0 && frame_->width == 0);
    header_.frame = whole ? Rect{0, 0, header_.extent.height, header_.extent.width} : *frame_;
    if (!check_region(header_.frame, header_.extent).ok()) {
      return corrupt("a frame of the PNG's animation does not fit the picture; the file is damaged", header_.data_at);
    }
    animated_ = frames_ && *frames_ + (frame_ ? 0 : 1) > 1;
    return ok_status();
  }

  /// Reads the chunks behind the picture's data: they change no pixel, but may give the orientation, and Pillow insists
  /// on whole chunks.
  Status behind_data() {
    in_front_ = false;
    bool data = true;
    for (std::size_t at = header_.data_at;;) {
      const std::optional<Chunk> chunk = chunk_at(bytes_, at);
      if (!chunk || !is_name(chunk->type) || chunk->type == chunk_type("IEND")) return ok_status();
      if (animated_ && chunk->type == chunk_type("fcTL")) return ok_status();
      data = data && is_data(chunk->type);
      const bool first = at == header_.data_at;
      if (!first && chunk->type == chunk_type("fdAT")) DRAPPS_RETURN_IF_ERROR(in_sequence(*chunk));
      if (data && !chunk->complete()) return ok_status();  // whether that matters, the rows will show
      if (!data) DRAPPS_RETURN_IF_ERROR(read(*chunk));
      at = chunk->at + chunk->length + kChecksum;
      if (at > bytes_.size()) return ok_status();
    }
  }

  Status read(const Chunk& chunk) {
    if (!chunk.complete()) return truncated("chunk " + name_of(chunk.type));
    if (chunk.body.size() < least_length(chunk.type, header_)) {
      return corrupt("chunk " + name_of(chunk.type) + " is too short; the file is damaged", chunk.at);
    }
    switch (chunk.type) {
      case chunk_type("IHDR"): return header(chunk);
      case chunk_type("PLTE"): return palette(chunk);
      case chunk_type("acTL"): animation(number(chunk.body, 0)); break;
      case chunk_type("fcTL"): return frame(chunk);
      case chunk_type("eXIf"): exif_ = exif_orientation(chunk.body); break;
      case chunk_type("iTXt"): text(chunk.body); break;
      default: break;
    }
    return texts_.check(chunk);
  }

  /// A count of frames that cannot be, or a second one, makes a still picture of the file.
  void animation(std::uint32_t frames) {
    const bool counts = !frames_ && frames != 0 && frames <= 0x80000000;
    if (frames_ || counts) frames_ = counts ? std::optional(std::uint64_t{frames}) : std::nullopt;
  }

  /// The chunks of an animation count up from 0.
  Status in_sequence(const Chunk& chunk) {
    if (chunk.body.size() < kSequence) return truncated("chunk " + name_of(chunk.type));
    if (number(chunk.body, 0) != sequence_ || (sequence_ == 0 && chunk.type == chunk_type("fdAT"))) {
      return corrupt("the frames of the PNG's animation are out of order; the file is damaged", chunk.at);
    }
    ++sequence_;
    return ok_status();
  }

  Status frame(const Chunk& chunk) {
    DRAPPS_RETURN_IF_ERROR(in_sequence(chunk));
    const std::uint64_t width = number(chunk.body, 4), height = number(chunk.body, 8);
    const std::uint64_t left = number(chunk.body, 12), top = number(chunk.body, 16);
    if (left + width > static_cast<std::uint64_t>(header_.extent.width) ||
        top + height > static_cast<std::uint64_t>(header_.extent.height)) {
      return corrupt("a frame of the PNG's animation does not fit the picture; the file is damaged", chunk.at);
    }
    frame_ = {static_cast<std::int32_t>(top), static_cast<std::int32_t>(left), static_cast<std::int32_t>(height),
              static_cast<std::int32_t>(width)};
    return ok_status();
  }

  Status header(const Chunk& chunk) {
    if (chunk.body[11] != 0) return corrupt("an unknown PNG filter method; the file is damaged", chunk.at + 11);
    if (!in_front_) return ok_status();
    const std::uint32_t width = number(chunk.body, 0), height = number(chunk.body, 4);
    if (std::max(width, height) > static_cast<std::uint32_t>(std::numeric_limits<std::int32_t>::max())) {
      return decode_error(ErrorCode::kTooLarge, "a PNG of more than 2^31 pixels a side; the file is damaged",
                          static_cast<std::int64_t>(chunk.at));
    }
    header_.extent = {static_cast<std::int32_t>(height), static_cast<std::int32_t>(width)};
    DRAPPS_RETURN_IF_ERROR(check_extent(header_.extent, options_, static_cast<std::int64_t>(chunk.at)));
    const std::uint8_t depth = chunk.body[8], type = chunk.body[9];
    constexpr std::string_view kDepths[7] = {"\1\2\4\10\20", "", "\10\20", "\1\2\4\10", "\10\20", "", "\10\20"};
    if (type > 6 || kDepths[type].find(static_cast<char>(depth)) == std::string_view::npos) {
      return corrupt("no PNG has colour type " + std::to_string(type) + " with " + std::to_string(depth) +
                         " bits; the file is damaged",
                     chunk.at + 8);
    }
    header_.depth = depth;
    header_.color_type = type;
    header_.interlaced = header_.interlaced || chunk.body[12] != 0;
    return ok_status();
  }

  Status palette(const Chunk& chunk) {
    if (header_.color_type != 3 || !in_front_) return ok_status();
    const std::size_t entries = chunk.body.size() / 3;
    if (entries > 256) return corrupt("a palette of more than 256 colours; the file is damaged", chunk.at);
    for (std::size_t i = 0; i < entries; ++i) std::copy_n(&chunk.body[3 * i], 3, header_.palette[i].begin());
    return ok_status();
  }

  void text(std::span<const std::uint8_t> body) {
    constexpr std::string_view kXmp("XML:com.adobe.xmp\0\0", 19);  // the second zero: not compressed
    const std::string_view all(reinterpret_cast<const char*>(body.data()), body.size());
    if (all.starts_with(kXmp)) xmp_ = xmp_orientation(body.subspan(kXmp.size()));
  }

  std::span<const std::uint8_t> bytes_;
  const DecodeOptions& options_;
  PngHeader header_;
  TextLimits texts_;
  bool in_front_ = true;                 // of the picture's data
  std::optional<std::uint64_t> frames_;  // as the animation counts them
  std::optional<Rect> frame_;            // the last one described
  std::uint32_t sequence_ = 0;           // number of the animation's next chunk
  bool animated_ = false;
  std::uint32_t exif_ = 0, xmp_ = 0;
};

}  // namespace

std::optional<Chunk> chunk_at(std::span<const std::uint8_t> bytes, std::size_t at) noexcept {
  if (at > bytes.size() || bytes.size() - at < kChunkHeader) return std::nullopt;
  Chunk chunk{.type = number(bytes, at + 4), .length = number(bytes, at), .at = at + kChunkHeader};
  chunk.body = bytes.subspan(chunk.at, std::min<std::size_t>(chunk.length, bytes.size() - chunk.at));
  return chunk;
}

std::optional<std::span<const std::uint8_t>> DataChunks::next() noexcept {
  const std::optional<Chunk> chunk = chunk_at(file_, next_);
  if (!chunk || !is_data(chunk->type)) {
    place_ = next_;
    return std::nullopt;
  }
  const std::size_t skipped = chunk->type == chunk_type("fdAT") ? kSequence : 0;
  place_ = chunk->at + skipped;
  next_ = chunk->at + chunk->length + kChecksum;
  return chunk->body.subspan(std::min(skipped, chunk->body.size()));
}

Result<PngHeader> read_header(std::span<const std::uint8_t> bytes, const DecodeOptions& options) {
  return PngWalk(bytes, options).run();
}

Result<ImageInfo> inspect(std::span<const std::uint8_t> bytes, const DecodeOptions& options) {
  const Result<PngHeader> header = read_header(bytes, options);
  if (!header.ok()) return header.error();
  if (options.color == ColorMode::kIndices && header->color_type != 0 && header->color_type != 3) {
    return decode_error(ErrorCode::kUnsupported, "a mask must be a palette or gray PNG; this one holds colours");
  }
  ImageInfo info{.format = ImageFormat::kPng,
                 .extent = header->extent,
                 .stored = header->extent,
                 .orientation = header->orientation,
                 .depth = header->depth,
                 .irregular = true};
  if (info.orientation >= 5) std::swap(info.extent.height, info.extent.width);
  return info;
}

}  // namespace drapps::png
