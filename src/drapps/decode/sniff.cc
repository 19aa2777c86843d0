#include "drapps/decode/sniff.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string>
#include <string_view>

#include "drapps/decode/jpeg/coefficients_format.h"

namespace drapps {
namespace {

struct Signature {
  std::string_view prefix;
  std::string_view name;
};

using namespace std::string_view_literals;

constexpr std::string_view kJpegSignature = "\xFF\xD8\xFF";
constexpr std::string_view kPngSignature = "\x89PNG\r\n\x1A\n";
constexpr std::string_view kCoefficientSignature{jpeg::kCoefficientMagic.data(), jpeg::kCoefficientMagic.size()};

constexpr std::array kForeign{
    Signature{"GIF87a"sv, "a GIF"},
    Signature{"GIF89a"sv, "a GIF"},
    Signature{"BM"sv, "a BMP"},
    Signature{"II*\0"sv, "a TIFF"},
    Signature{"MM\0*"sv, "a TIFF"},
    Signature{"II+\0"sv, "a BigTIFF"},
    Signature{"\0\0\1\0"sv, "an ICO"},
    Signature{"8BPS"sv, "a Photoshop file"},
    Signature{"\xFF\x0A"sv, "a JPEG XL"},
    Signature{"\0\0\0\x0CJXL "sv, "a JPEG XL"},
    Signature{"\0\0\0\x0CjP  "sv, "a JPEG 2000"},
    Signature{"\xFF\x4F\xFF\x51"sv, "a JPEG 2000"},
    Signature{"%PDF"sv, "a PDF"},
    Signature{"PK\3\4"sv, "a ZIP archive"},
    Signature{"\x1F\x8B"sv, "gzip data"},
    Signature{"RIFF"sv, "a RIFF file other than WebP"},
    Signature{"qoif"sv, "a QOI"},
    Signature{"\x76\x2F\x31\x01"sv, "an OpenEXR"},
    Signature{"version https://git-lfs"sv, "a Git LFS pointer"},
    Signature{"\0\5\x16\7"sv, "what macOS keeps beside a file under ._ and its name (AppleDouble)"},
};

/// The beginning of a file, which says what it is.
std::string_view beginning(std::span<const std::uint8_t> bytes) {
  constexpr std::size_t kLooked = 256;
  return {reinterpret_cast<const char*>(bytes.data()), std::min(bytes.size(), kLooked)};
}

}  // namespace

std::string_view looks_like(std::span<const std::uint8_t> bytes) {
  const std::string_view text = beginning(bytes);
  for (const Signature& signature : kForeign) {
    if (text.starts_with(signature.prefix)) return signature.name;
  }
  if (text.size() >= 12 && text.substr(4, 4) == "ftyp") {
    const std::string_view brand = text.substr(8, 4);
    if (brand == "avif" || brand == "avis") return "an AVIF";
    if (brand == "heic" || brand == "heix" || brand == "mif1") return "a HEIC";
    return "an MP4 or QuickTime file";
  }
  const std::size_t first = text.find_first_not_of(" \t\r\n\xEF\xBB\xBF");
  if (first != text.npos && text[first] == '<') {
    return text.find("<svg") != text.npos ? "an SVG" : "an HTML or XML page";
  }
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x80 && std::isprint(byte) == 0 && std::isspace(byte) == 0) return "no picture known here";
  }
  return "text";
}

Result<ImageFormat> sniff(std::span<const std::uint8_t> bytes) {
  if (bytes.empty()) {
    return decode_error(ErrorCode::kTruncated, "the file is empty; fetch it again or remove it", 0);
  }
  const std::string_view text = beginning(bytes);
  if (text.starts_with(kJpegSignature)) return ImageFormat::kJpeg;
  if (text.starts_with(kPngSignature)) return ImageFormat::kPng;
  if (text.starts_with(kCoefficientSignature)) return ImageFormat::kCoefficients;
  if (text.starts_with("RIFF") && text.size() >= 12 && text.substr(8, 4) == "WEBP") return ImageFormat::kWebp;
  const bool started = kJpegSignature.starts_with(text) || kPngSignature.starts_with(text) ||
                       kCoefficientSignature.starts_with(text) ||
                       (text.size() < 12 && (text.starts_with("RIFF") || "RIFF"sv.starts_with(text)));
  if (started) {
    return decode_error(ErrorCode::kTruncated, "the file ends within its signature; fetch it again",
                        static_cast<std::int64_t>(bytes.size()));
  }
  return decode_error(ErrorCode::kUnsupported,
                      "this looks like " + std::string(looks_like(bytes)) +
                          ", not a JPEG, PNG or WebP; convert it, or leave it out of the data set",
                      0);
}

}  // namespace drapps
