// The structural check of a JPEG file: its markers, without decoding a bit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "drapps/base/result.h"
#include "drapps/decode/types.h"

namespace drapps::jpeg {

/// Walks the markers up to the first scan as Pillow does, and fails where Pillow does not recognise the file: cut off
/// in or before the first scan's header, no frame, other than 8 bits or 1, 3 or 4 components, no pixels.
///
/// info.irregular is false only where a part of the picture can be decoded alone and nothing about the file's verdict
/// depends on the rest: a sequential Huffman frame, one scan of all components, restart markers in their order, the end
/// marker right after the scan. What follows the end marker does not matter.
Result<ImageInfo> inspect(std::span<const std::uint8_t> bytes, const DecodeOptions& options);

/// The first place at or after `from` where the byte 0xFF is followed by one that is not 0, which is where a marker
/// ends entropy-coded data; bytes.size() where there is none. Runs at several bytes per nanosecond.
std::size_t find_marker(std::span<const std::uint8_t> bytes, std::size_t from) noexcept;

}  // namespace drapps::jpeg
