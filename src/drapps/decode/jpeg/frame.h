// What the headers of a regular JPEG say, for the decoder of this folder.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "drapps/data/picture.h"
#include "drapps/kernel/jpeg/huffman.h"
#include "drapps/kernel/jpeg/idct.h"

namespace drapps::jpeg {

/// How much smaller the planes of chroma are. Width and height are those of one MCU in blocks.
struct Sampling {
  std::int32_t across = 1;  // 1, 2 or 4
  std::int32_t down = 1;    // 1 or 2
};

struct Component {
  alignas(64) std::array<std::int16_t, kernel::jpeg::kBlock> quant;  // as a block is laid out
  std::span<const std::uint8_t> dc, ac;  // codes, as make_table() takes them; in the file's bytes
};

struct Frame {
  Extent extent;
  std::int32_t components = 0;  // 1: gray; 3: YCbCr, whose first component is not subsampled
  Sampling sampling;            // of components 1 and 2
  std::array<Component, 3> component;
  std::uint32_t restart_interval = 0;  // MCUs; 0: none
  std::size_t scan_begin = 0;          // offset of the entropy-coded data

  std::int32_t mcu_width() const noexcept { return 8 * sampling.across; }
  std::int32_t mcu_height() const noexcept { return 8 * sampling.down; }
  std::int32_t mcus_across() const noexcept { return (extent.width + mcu_width() - 1) / mcu_width(); }
  std::int32_t mcus_down() const noexcept { return (extent.height + mcu_height() - 1) / mcu_height(); }
  /// Blocks of component 0 in an MCU; the others have one each.
  std::size_t luma_blocks() const noexcept { return std::size_t{1} * sampling.across * sampling.down; }
  std::size_t blocks() const noexcept { return luma_blocks() + static_cast<std::size_t>(components - 1); }
};

/// Reads the headers of a file that inspect() found regular. Empty for a picture that is left to libjpeg: other colours
/// than gray and YCbCr, other sampling than 4:4:4, 4:2:2, 4:2:0, 4:4:0 and 4:1:1, or without tables of its own.
std::optional<Frame> read_frame(std::span<const std::uint8_t> bytes) noexcept;

}  // namespace drapps::jpeg
