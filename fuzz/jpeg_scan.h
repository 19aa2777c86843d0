// JPEGs whose headers are right and whose entropy-coded data is anything: what the fuzzer would hardly find by itself,
// since most changes to a file end before the first code is looked up.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <span>
#include <utility>

#include "drapps/decode/testing.h"

namespace drapps::fuzz {

using Bytes = testing::Bytes;

/// Headers up to the scan, and how many restart markers there are in it.
struct ScanHead {
  Bytes bytes;
  std::size_t restarts = 0;
};

/// A code that is all that photographs' codes are not: long runs under short codes, coefficients that the look at the
/// next bits holds together with the end of the block, codes of 16 bits.
inline Bytes wild_code(std::uint8_t name) {
  const bool ac = name >> 4 != 0;
  Bytes code{name, 1, 1, 1, 1, 1, 0, 0, 1, 1, 1, 0, 0, 0, 0, 0, 1};
  for (const int symbol : {0x01, 0xF1, 0x00, 0xF0, 0x3A, 0xE2, 0x0A, 0x50, 0x71}) {
    code.push_back(static_cast<std::uint8_t>(ac ? symbol : symbol % 12));
  }
  return code;
}

/// A file whose headers are those of kind `kind`, of 480.
inline Bytes file_of_kind(unsigned kind, std::size_t& restarts) {
  constexpr std::array<std::array<int, 3>, 6> kSamplings{
      {{3, 1, 1}, {3, 2, 1}, {3, 2, 2}, {3, 1, 2}, {3, 4, 1}, {1, 1, 1}}};
  constexpr std::array<Extent, 5> kExtents{{{8, 8}, {17, 33}, {40, 23}, {70, 70}, {9, 150}}};
  const auto next = [&](unsigned choices) { return std::exchange(kind, kind / choices) % choices; };
  const auto [channels, across, down] = kSamplings[next(6)];
  const Extent extent = kExtents[next(5)];
  const auto row = static_cast<unsigned>((extent.width + 8 * across - 1) / (8 * across));
  const auto column = static_cast<unsigned>((extent.height + 8 * down - 1) / (8 * down));
  const unsigned interval = std::array{0u, 1u, 3u, row}[next(4)];
  restarts = interval == 0 ? 0 : (std::size_t{row} * column - 1) / interval;
  const bool coarse = next(2) == 1;  // quantisers of 16 bits
  return testing::encode_jpeg(extent, {.channels = channels,
                                       .horizontal = across,
                                       .vertical = down,
                                       .restart_interval = interval,
                                       .quality = coarse ? 2 : 80,
                                       .optimize = next(2) == 1,
                                       .baseline = false});
}

inline ScanHead make_scan_head(unsigned kind, bool wild) {
  ScanHead head{{0xFF, 0xD8}, 0};
  const Bytes file = file_of_kind(kind, head.restarts);
  for (std::size_t at = 2; at < file.size();) {
    const std::size_t length = 2 + static_cast<std::size_t>(file[at + 2] << 8 | file[at + 3]);
    const std::span<const std::uint8_t> segment(&file[at], length);
    head.bytes.insert(head.bytes.end(), segment.begin(), segment.begin() + 4);
    if (wild && segment[1] == 0xC4) {
      const Bytes code = wild_code(segment[4]);
      head.bytes.back() = static_cast<std::uint8_t>(code.size() + 2);
      head.bytes.insert(head.bytes.end(), code.begin(), code.end());
    } else {
      head.bytes.insert(head.bytes.end(), segment.begin() + 4, segment.end());
    }
    at += length;
    if (segment[1] == 0xDA) break;
  }
  return head;
}

/// The first two bytes choose headers. Of the others, 0xFF is a restart marker, as long as there are to be more of
/// them, unless it comes twice.
inline Bytes file_of_scan(std::span<const std::uint8_t> input) {
  static std::map<unsigned, ScanHead> heads;
  const unsigned kind = (input[0] * 256u + input[1]) % 960;
  if (!heads.contains(kind)) heads[kind] = make_scan_head(kind % 480, kind >= 480);
  const ScanHead& head = heads[kind];
  Bytes file = head.bytes;
  std::size_t restarts = 0;
  const auto restart = [&] { file.insert(file.end(), {0xFF, static_cast<std::uint8_t>(0xD0 | (restarts++ & 7))}); };
  for (std::size_t i = 2; i < input.size(); ++i) {
    if (input[i] != 0xFF) {
      file.push_back(input[i]);
    } else if (i + 1 < input.size() && input[i + 1] == 0xFF) {
      file.insert(file.end(), {0xFF, 0});
      ++i;
    } else if (restarts < head.restarts) {
      restart();
    }
  }
  while (restarts < head.restarts) restart();
  file.insert(file.end(), {0xFF, 0xD9});
  return file;
}

}  // namespace drapps::fuzz
