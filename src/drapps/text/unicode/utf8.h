// Reading UTF-8 that is known to be valid, and writing it.
#pragma once

#include <cstdint>
#include <string>

namespace drapps::text {

using Place = const std::uint8_t*;

/// A code point and the bytes it takes.
struct CodePoint {
  char32_t value;
  std::uint32_t size;
};

/// Bytes of the character that begins with `lead`. Requires the first byte of one.
inline std::uint32_t utf8_size(std::uint8_t lead) noexcept {
  return lead < 0x80 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
}

/// The code point that begins at `p`. Requires valid UTF-8 there.
inline CodePoint decode_utf8(const std::uint8_t* p) noexcept {
  const char32_t lead = p[0];
  if (lead < 0x80) return {lead, 1};
  if (lead < 0xE0) return {(lead & 0x1F) << 6 | (p[1] & 0x3F), 2};
  if (lead < 0xF0) return {(lead & 0x0F) << 12 | char32_t(p[1] & 0x3F) << 6 | (p[2] & 0x3F), 3};
  return {(lead & 0x07) << 18 | char32_t(p[1] & 0x3F) << 12 | char32_t(p[2] & 0x3F) << 6 | (p[3] & 0x3F), 4};
}

/// Appends a code point that is no surrogate.
inline void append_utf8(char32_t point, std::string& out) {
  const auto tail = [&](int shift) { out.push_back(static_cast<char>(0x80 | (point >> shift & 0x3F))); };
  if (point < 0x80) {
    out.push_back(static_cast<char>(point));
  } else if (point < 0x800) {
    out.push_back(static_cast<char>(0xC0 | point >> 6));
    tail(0);
  } else if (point < 0x10000) {
    out.push_back(static_cast<char>(0xE0 | point >> 12));
    tail(6), tail(0);
  } else {
    out.push_back(static_cast<char>(0xF0 | point >> 18));
    tail(12), tail(6), tail(0);
  }
}

}  // namespace drapps::text
