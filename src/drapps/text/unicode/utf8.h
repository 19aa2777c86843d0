// Reading UTF-8 that is known to be valid.
#pragma once

#include <cstdint>

namespace drapps::text {

/// A code point and the bytes it takes.
struct CodePoint {
  char32_t value;
  std::uint32_t size;
};

/// The code point that begins at `p`. Requires valid UTF-8 there.
inline CodePoint decode_utf8(const std::uint8_t* p) noexcept {
  const char32_t lead = p[0];
  if (lead < 0x80) return {lead, 1};
  if (lead < 0xE0) return {(lead & 0x1F) << 6 | (p[1] & 0x3F), 2};
  if (lead < 0xF0) return {(lead & 0x0F) << 12 | char32_t(p[1] & 0x3F) << 6 | (p[2] & 0x3F), 3};
  return {(lead & 0x07) << 18 | char32_t(p[1] & 0x3F) << 12 | char32_t(p[2] & 0x3F) << 6 | (p[3] & 0x3F), 4};
}

}  // namespace drapps::text
