#include "drapps/decode/jpeg/structure.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "drapps/decode/check.h"
#include "drapps/decode/exif.h"
#include "drapps/decode/jpeg/markers.h"

namespace drapps::jpeg {
namespace {

bool is_frame(std::uint8_t marker) {
  return (marker >= 0xC0 && marker <= 0xCF && marker != kDht && marker != 0xC8 && marker != kDac) || marker == kDhp;
}
bool has_segment(std::uint8_t marker) {
  return is_frame(marker) || marker == kDht || marker == kDac || (marker >= kSos && marker <= kExp) ||
         (marker >= kApp0 && marker <= kApp15) || marker == kCom;
}
bool is_restart(std::uint8_t marker) { return marker >= kRst0 && marker <= kRst7; }
bool stands_alone(std::uint8_t marker) {
  return is_restart(marker) || marker == kSoi || marker == kEoi || marker == 0xC8 || (marker >= 0xF0 && marker <= 0xFD);
}

/// Shortest body, up to its version, that Pillow reads of the application segments that say how colours are meant.
constexpr std::size_t kVersionEnd = 7;

struct FrameHeader {
  Extent extent;
  int components = 0;
  int horizontal = 1, vertical = 1;  // largest sampling factors
  bool regular = false;
};

class JpegWalk {
 public:
  explicit JpegWalk(std::span<const std::uint8_t> bytes) : bytes_(bytes) {}

  Result<ImageInfo> run(const DecodeOptions& options) {
    DRAPPS_RETURN_IF_ERROR(to_scan());
    if (frame_.components == 0) return corrupt("a scan before any frame header; the file is damaged", at_);
    DRAPPS_RETURN_IF_ERROR(check_extent(frame_.extent, options, 0));
    ImageInfo info{.format = ImageFormat::kJpeg, .extent = frame_.extent, .stored = frame_.extent};
    if (options.exif == ExifMode::kApply) {
      info.orientation = effective_orientation(exif_, xmp_);
      if (info.orientation >= 5) std::swap(info.extent.height, info.extent.width);
    }
    info.irregular = !regular_ || !frame_.regular || !scan_is_regular();
    return info;
  }

 private:
  static Error corrupt(std::string message, std::size_t at) {
    return decode_error(ErrorCode::kCorrupt, std::move(message), static_cast<std::int64_t>(at));
  }
  Error truncated() const {
    return decode_error(ErrorCode::kTruncated, "the JPEG ends before its picture begins; fetch the file again",
                        static_cast<std::int64_t>(bytes_.size()));
  }

  /// Stops behind the header of the first scan. Follows Pillow: junk before a marker is skipped, the last frame header
  /// counts.
  Status to_scan() {
    at_ = 2;
    while (true) {
      if (at_ < bytes_.size() && bytes_[at_] != 0xFF) {
        regular_ = false;
        ++at_;
        continue;
      }
      if (at_ + 1 >= bytes_.size()) return truncated();
      const std::uint8_t marker = bytes_[at_ + 1];
      if (marker == 0xFF || marker == 0) {  // fill byte; or junk
        regular_ = false;
        at_ += marker == 0xFF ? 1 : 2;
        continue;
      }
      const std::size_t start = at_;
      at_ += 2;
      if (stands_alone(marker)) {
        regular_ = false;
        continue;
      }
      if (!has_segment(marker)) {
        return corrupt("byte " + std::to_string(marker) + " is no JPEG marker; the file is damaged", start);
      }
      if (bytes_.size() - at_ < 2) return truncated();
      std::size_t length = number(at_);
      if (length < 2) {
        regular_ = false;
        length = 2;
      }
      if (bytes_.size() - at_ < length) return truncated();
      DRAPPS_RETURN_IF_ERROR(segment(marker, bytes_.subspan(at_ + 2, length - 2)));
      at_ += length;
      if (marker == kSos) return ok_status();
    }
  }

  Status segment(std::uint8_t marker, std::span<const std::uint8_t> body) {
    if (is_frame(marker)) return frame(marker, body);
    if (marker == kApp1) metadata(body);
    const std::string_view text(reinterpret_cast<const char*>(body.data()), body.size());
    const bool named = (marker == kApp0 && text.starts_with("JFIF")) || (marker == kApp14 && text.starts_with("Adobe"));
    if (named && body.size() < kVersionEnd)
      return corrupt("an application segment is too short; the file is damaged", at_);
    if (marker == kDri && body.size() == 2) restart_interval_ = static_cast<std::uint32_t>(body[0] << 8 | body[1]);
    if (marker == kSos) scan_components_ = body.empty() ? 0 : body[0];
    if (marker == kDnl || marker == kExp || marker == kDac) regular_ = false;
    if (marker == kDqt) return tables(body);
    return ok_status();
  }

  Status frame(std::uint8_t marker, std::span<const std::uint8_t> body) {
    if (body.size() < 6) return corrupt("the frame header is too short; the file is damaged", at_);
    if (body[0] != 8) {
      return decode_error(ErrorCode::kUnsupported,
                          "a JPEG of " + std::to_string(body[0]) + " bits per sample; convert it to 8 bits",
                          static_cast<std::int64_t>(at_));
    }
    FrameHeader frame;
    frame.extent = {body[1] << 8 | body[2], body[3] << 8 | body[4]};
    frame.components = body[5];
    if (frame.components != 1 && frame.components != 3 && frame.components != 4) {
      return decode_error(ErrorCode::kUnsupported,
                          "a JPEG of " + std::to_string(frame.components) + " components; convert it to RGB",
                          static_cast<std::int64_t>(at_));
    }
    if (body.size() % 3 != 0) return corrupt("the frame header has a wrong length; the file is damaged", at_);
    const bool complete = body.size() == 6 + 3 * static_cast<std::size_t>(frame.components);
    frame.regular = complete && frame_.components == 0 && (marker == kSof0 || marker == kSof1);
    for (int i = 0; complete && i < frame.components; ++i) {
      const int sampling = body[7 + 3 * static_cast<std::size_t>(i)];
      const int horizontal = sampling >> 4, vertical = sampling & 15;
      // Other factors exist and decode; they are too rare to vouch for a part of such a picture.
      const auto common = [](int factor) { return factor == 1 || factor == 2 || factor == 4; };
      frame.regular = frame.regular && common(horizontal) && common(vertical);
      frame.horizontal = std::max(frame.horizontal, horizontal);
      frame.vertical = std::max(frame.vertical, vertical);
    }
    // A lone component is coded in single blocks whatever its factors say, which partial decoding gets wrong.
    if (frame.components == 1 && frame.horizontal * frame.vertical != 1) frame.regular = false;
    frame_ = frame;
    return ok_status();
  }

  Status tables(std::span<const std::uint8_t> body) {
    while (!body.empty()) {
      const std::size_t length = body[0] >> 4 == 0 ? 65 : 129;
      if (body.size() < length) return corrupt("a quantization table is cut short; the file is damaged", at_);
      body = body.subspan(length);
    }
    return ok_status();
  }

  void metadata(std::span<const std::uint8_t> body) {
    const std::string_view text(reinterpret_cast<const char*>(body.data()), body.size());
    constexpr std::string_view kExif("Exif\0\0", 6);
    constexpr std::string_view kXmp("http://ns.adobe.com/xap/1.0/\0", 29);
    // An EXIF block may go on in a second segment; the first directory never lies that far in.
    if (text.starts_with(kExif) && exif_ == 0) exif_ = exif_orientation(body);
    if (text.starts_with(kXmp)) xmp_ = xmp_orientation(body.subspan(kXmp.size()));
  }

  /// Entropy-coded data, restart markers in turn where an interval is set, and the end marker.
  bool scan_is_regular() const {
    if (scan_components_ != frame_.components) return false;
    std::uint64_t restarts = 0;
    std::size_t place = find_marker(bytes_, at_);
    while (place < bytes_.size() && is_restart(bytes_[place + 1])) {
      if (bytes_[place + 1] != kRst0 + (restarts & 7)) return false;
      ++restarts;
      place = find_marker(bytes_, place + 2);
    }
    return place < bytes_.size() && bytes_[place + 1] == kEoi && restarts == expected_restarts();
  }

  std::uint64_t expected_restarts() const {
    if (restart_interval_ == 0) return 0;
    const auto units = [](std::int32_t size, int factor) {
      return static_cast<std::uint64_t>((size + 8 * factor - 1) / (8 * factor));
    };
    const std::uint64_t all =
        units(frame_.extent.width, frame_.horizontal) * units(frame_.extent.height, frame_.vertical);
    return (all - 1) / restart_interval_;
  }

  std::size_t number(std::size_t at) const { return static_cast<std::size_t>(bytes_[at] << 8 | bytes_[at + 1]); }

  std::span<const std::uint8_t> bytes_;
  std::size_t at_ = 0;
  bool regular_ = true;
  FrameHeader frame_;  // no components before the first frame header
  std::uint32_t restart_interval_ = 0;
  int scan_components_ = 0;
  std::uint32_t exif_ = 0, xmp_ = 0;
};

}  // namespace

Result<ImageInfo> inspect(std::span<const std::uint8_t> bytes, const DecodeOptions& options) {
  return JpegWalk(bytes).run(options);
}

std::size_t find_marker(std::span<const std::uint8_t> bytes, std::size_t from) noexcept {
  // Whole blocks without a marker are passed by a loop without branches, which compilers turn into vector code; the
  // block that has one is then searched byte by byte.
  constexpr std::size_t kStep = 512;
  const std::uint8_t* data = bytes.data();
  const std::size_t last = bytes.empty() ? 0 : bytes.size() - 1;  // no pair starts at the last byte
  for (std::size_t at = from; at < last;) {
    const std::size_t end = std::min(last, at + kStep);
    if (end - at == kStep) {
      std::uint8_t flags = 0;
      for (std::size_t i = 0; i < kStep; ++i) {
        flags |= static_cast<std::uint8_t>((data[at + i] == 0xFF) & (data[at + i + 1] != 0));
      }
      if (flags == 0) {
        at = end;
        continue;
      }
    }
    for (; at < end; ++at) {
      if (data[at] == 0xFF && data[at + 1] != 0) return at;
    }
  }
  return bytes.size();
}

}  // namespace drapps::jpeg
