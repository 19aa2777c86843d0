// The orientation that EXIF or XMP metadata gives a picture, read as Pillow reads it.
#pragma once

#include <cstdint>
#include <span>

namespace drapps {

/// Orientation tag (274) of the first directory of an EXIF block, with or without the leading "Exif\0\0".
/// 0 where there is none or the block is broken; otherwise the value as stored, which need not lie in 1..8.
std::uint32_t exif_orientation(std::span<const std::uint8_t> block) noexcept;

/// The digit after `tiff:Orientation="` or `tiff:Orientation>` in an XMP packet; 0 where there is none.
std::uint32_t xmp_orientation(std::span<const std::uint8_t> packet) noexcept;

/// The orientation that decode() is to undo: EXIF's where its tag is there and not 0, XMP's otherwise; anything but
/// 2..8 means 1.
constexpr std::uint8_t effective_orientation(std::uint32_t exif, std::uint32_t xmp) noexcept {
  const std::uint32_t value = exif != 0 ? exif : xmp;
  return value >= 1 && value <= 8 ? static_cast<std::uint8_t>(value) : std::uint8_t{1};
}

}  // namespace drapps
