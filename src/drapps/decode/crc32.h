// CRC-32 as PNG and zlib use it (polynomial 0xEDB88320, reflected).
#pragma once

#include <array>
#include <cstdint>
#include <span>

namespace drapps {

/// Checksum of `bytes`. Byte by byte: meant for headers, not for picture data.
constexpr std::uint32_t crc32(std::span<const std::uint8_t> bytes) noexcept {
  constexpr auto kTable = [] {
    std::array<std::uint32_t, 256> table{};
    for (std::uint32_t i = 0; i < 256; ++i) {
      std::uint32_t value = i;
      for (int bit = 0; bit < 8; ++bit) value = value >> 1 ^ (value & 1 ? 0xEDB88320u : 0u);
      table[i] = value;
    }
    return table;
  }();
  std::uint32_t sum = 0xFFFFFFFFu;
  for (const std::uint8_t byte : bytes) sum = kTable[(sum ^ byte) & 0xFF] ^ sum >> 8;
  return ~sum;
}

}  // namespace drapps
