#include "drapps/decode/jpeg/plain_header.h"

#include <string_view>

#include "drapps/decode/jpeg/markers.h"
#include "drapps/kernel/jpeg/zigzag.h"

namespace drapps::jpeg {
namespace {

constexpr std::size_t kJfifLength = 12, kAdobeLength = 12;  // bytes of the body up to the last that is read

std::string_view text_of(std::span<const std::uint8_t> body) {
  return {reinterpret_cast<const char*>(body.data()), body.size()};
}

/// Whether an application segment is kept as it is, or is one of the two kinds of which a few numbers are read.
bool is_plain_text(std::uint8_t marker, std::span<const std::uint8_t> body) {
  const std::string_view text = text_of(body);
  switch (marker) {
    case kApp0: return !text.starts_with("JFIF") || body.size() >= kJfifLength;
    case kApp1: return !text.starts_with("Exif") && !text.starts_with("http://ns.adobe.com/xap/");
    case kApp0 + 2: return !text.starts_with("FPXR") && !text.starts_with("ICC_PROFILE") && !text.starts_with("MPF");
    case kApp0 + 13: return !text.starts_with("Photoshop");
    case kApp14: return !text.starts_with("Adobe") || body.size() >= kAdobeLength;
    default: return true;
  }
}

bool read_quantizers(std::span<const std::uint8_t> body, PlainHeader& header) {
  constexpr std::size_t kLength = 65;
  for (; !body.empty(); body = body.subspan(kLength)) {
    if (body[0] >> 4 != 0 || body.size() < kLength) return false;
    PlainHeader::Quantizer& quantizer = header.quantizers.emplace_back();
    quantizer.number = body[0] & 15;
    for (std::size_t k = 0; k < quantizer.values.size(); ++k) quantizer.values[kernel::jpeg::kZigzag[k]] = body[1 + k];
  }
  return true;
}

bool read_layers(std::span<const std::uint8_t> body, PlainHeader& header) {
  if (!header.layers.empty() || body.size() < 6 || body[0] != 8) return false;
  const std::size_t count = body[5];
  if ((count != 1 && count != 3) || body.size() != 6 + 3 * count) return false;
  header.extent = {body[1] << 8 | body[2], body[3] << 8 | body[4]};
  for (std::size_t at = 6; at < body.size(); at += 3) {
    header.layers.push_back({.id = body[at],
                             .horizontal = static_cast<std::uint8_t>(body[at + 1] >> 4),
                             .vertical = static_cast<std::uint8_t>(body[at + 1] & 15),
                             .quantizer = body[at + 2]});
  }
  return header.extent.height > 0 && header.extent.width > 0;
}

bool read_segment(std::uint8_t marker, std::span<const std::uint8_t> body, PlainHeader& header) {
  if (marker == kSof0 || marker == kSof1) return read_layers(body, header);
  if (marker == kDqt) return read_quantizers(body, header);
  if ((marker >= kApp0 && marker <= kApp15) || marker == kCom) {
    header.texts.push_back({.marker = marker, .body = body});
    return is_plain_text(marker, body);
  }
  return marker == kDht || marker == kDri || (marker == kSos && !header.layers.empty());
}

}  // namespace

std::optional<PlainHeader> read_plain_header(std::span<const std::uint8_t> bytes) {
  if (bytes.size() < 2 || bytes[0] != 0xFF || bytes[1] != kSoi) return std::nullopt;
  PlainHeader header;
  for (std::size_t at = 2; bytes.size() - at >= 4;) {
    const std::uint8_t marker = bytes[at + 1];
    const std::size_t length = static_cast<std::size_t>(bytes[at + 2] << 8 | bytes[at + 3]);
    if (bytes[at] != 0xFF || length < 2 || bytes.size() - at - 2 < length) break;
    if (!read_segment(marker, bytes.subspan(at + 4, length - 2), header)) break;
    at += 2 + length;
    if (marker != kSos) continue;
    header.end = at;
    return header;
  }
  return std::nullopt;
}

}  // namespace drapps::jpeg
