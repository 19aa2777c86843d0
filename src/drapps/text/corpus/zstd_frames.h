// Where the frames of a zstd file lie, without decompressing them (RFC 8878, section 3).
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "drapps/base/result.h"
#include "drapps/storage/file_window.h"

namespace drapps::text {

struct ZstdFrame {
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
  std::uint64_t content = 0;  // bytes when decompressed; 0 where the frame does not say
};

/// Whether a file of these first bytes is a zstd file, by its first frame.
bool begins_zstd(std::span<const std::uint8_t> first) noexcept;

/// Calls `frame` for each, in order; skippable frames count with the one before. Reads a few bytes of each block of a
/// frame. kCorrupt or kTruncated at an offset; kUnsupported for frames that need a dictionary.
Status for_each_frame(FileWindow& file, const std::function<void(const ZstdFrame&)>& frame);

}  // namespace drapps::text
