#include "drapps/decode/exif.h"

#include <cstddef>
#include <cstring>
#include <string_view>

namespace drapps {
namespace {

constexpr std::uint16_t kOrientation = 274;
constexpr std::uint16_t kShort = 3;
constexpr std::uint16_t kLong = 4;

class Tiff {
 public:
  explicit Tiff(std::span<const std::uint8_t> block) : block_(block) {}
  bool readable() {
    if (block_.size() < 8) return false;
    little_ = std::memcmp(block_.data(), "II\x2a\0", 4) == 0;
    return little_ || std::memcmp(block_.data(), "MM\0\x2a", 4) == 0;
  }
  bool has(std::size_t at, std::size_t count) const { return at <= block_.size() && count <= block_.size() - at; }
  std::uint32_t number(std::size_t at, unsigned bytes) const {
    std::uint32_t value = 0;
    for (unsigned i = 0; i < bytes; ++i) {
      const std::uint32_t byte = block_[at + i];
      value |= byte << 8 * (little_ ? i : bytes - 1 - i);
    }
    return value;
  }

 private:
  std::span<const std::uint8_t> block_;
  bool little_ = false;
};

std::string_view text_of(std::span<const std::uint8_t> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

std::uint32_t exif_orientation(std::span<const std::uint8_t> block) noexcept {
  constexpr std::string_view kPrefix("Exif\0\0", 6);
  while (text_of(block).starts_with(kPrefix)) block = block.subspan(kPrefix.size());
  Tiff tiff(block);
  if (!tiff.readable()) return 0;
  const std::size_t directory = tiff.number(4, 4);
  if (!tiff.has(directory, 2)) return 0;
  const std::uint32_t entries = tiff.number(directory, 2);
  std::uint32_t orientation = 0;
  for (std::uint32_t i = 0; i < entries; ++i) {
    const std::size_t entry = directory + 2 + std::size_t{12} * i;
    if (!tiff.has(entry, 12)) break;
    if (tiff.number(entry, 2) != kOrientation || tiff.number(entry + 4, 4) != 1) continue;
    const std::uint32_t type = tiff.number(entry + 2, 2);
    if (type == kShort) orientation = tiff.number(entry + 8, 2);
    if (type == kLong) orientation = tiff.number(entry + 8, 4);
  }
  return orientation;
}

std::uint32_t xmp_orientation(std::span<const std::uint8_t> packet) noexcept {
  constexpr std::string_view kName = "tiff:Orientation";
  std::string_view text = text_of(packet);
  for (std::size_t at = text.find(kName); at != text.npos; at = text.find(kName)) {
    text.remove_prefix(at + kName.size());
    std::string_view rest = text;
    if (rest.starts_with("=\"")) {
      rest.remove_prefix(2);
    } else if (rest.starts_with(">")) {
      rest.remove_prefix(1);
    } else {
      continue;
    }
    if (!rest.empty() && rest[0] >= '0' && rest[0] <= '9') return static_cast<std::uint32_t>(rest[0] - '0');
  }
  return 0;
}

}  // namespace drapps
