// What Huffman decoding of a file begins with, wherever it is done: the bytes of its scan, and which index is of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "drapps/decode/jpeg/frame.h"
#include "drapps/decode/jpeg/index.h"
#include "drapps/kernel/level.h"

namespace drapps::jpeg {

/// Copies the entropy-coded data of a regular file without stuffing and restart markers, and kScanPadding zeros behind
/// it. Returns how many bytes it is without those.
/// @param from      frame.scan_begin.
/// @param out       room for bytes.size() - from + kScanPadding bytes, and kPadding more, which may be written.
/// @param restarts  replaced by the offsets in `out` of what followed each restart marker.
std::size_t unstuff_scan(std::uint8_t* out, std::span<const std::uint8_t> bytes, std::size_t from,
                         std::vector<std::uint32_t>& restarts, kernel::Level level = kernel::active_level());

/// The shape of every index of a file with entries of `group` MCUs.
IndexShape shape_of(const Frame& frame, std::span<const std::uint8_t> bytes, std::uint32_t group) noexcept;

}  // namespace drapps::jpeg
