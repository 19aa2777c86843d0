// CRC-32 as PNG and zlib use it (polynomial 0xEDB88320, reflected).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace drapps {

/// Checksum of `bytes`, a byte per cycle or so. Eight tables, so that eight bytes are looked up at once (Kounavis and
/// Berry, "A systematic approach to building high performance, software-based, CRC generators", 2005).
constexpr std::uint32_t crc32(std::span<const std::uint8_t> bytes) noexcept {
  constexpr auto kTable = [] {
    std::array<std::array<std::uint32_t, 256>, 8> table{};
    for (std::uint32_t i = 0; i < 256; ++i) {
      std::uint32_t value = i;
      for (int bit = 0; bit < 8; ++bit) value = value >> 1 ^ (value & 1 ? 0xEDB88320u : 0u);
      table[0][i] = value;
    }
    for (std::size_t k = 1; k < 8; ++k) {
      for (std::size_t i = 0; i < 256; ++i) {
        const std::uint32_t value = table[k - 1][i];
        table[k][i] = table[0][value & 0xFF] ^ value >> 8;
      }
    }
    return table;
  }();
  std::uint32_t sum = 0xFFFFFFFFu;
  for (; bytes.size() >= 8; bytes = bytes.subspan(8)) {
    sum ^= bytes[0] | bytes[1] << 8 | bytes[2] << 16 | static_cast<std::uint32_t>(bytes[3]) << 24;
    sum = kTable[7][sum & 0xFF] ^ kTable[6][sum >> 8 & 0xFF] ^ kTable[5][sum >> 16 & 0xFF] ^ kTable[4][sum >> 24] ^
          kTable[3][bytes[4]] ^ kTable[2][bytes[5]] ^ kTable[1][bytes[6]] ^ kTable[0][bytes[7]];
  }
  for (const std::uint8_t byte : bytes) sum = kTable[0][(sum ^ byte) & 0xFF] ^ sum >> 8;
  return ~sum;
}

}  // namespace drapps
