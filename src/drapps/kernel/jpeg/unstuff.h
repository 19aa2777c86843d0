// Entropy-coded bytes of a JPEG without their stuffing: the 0 after each byte 0xFF goes.
#pragma once

#include <cstddef>
#include <cstdint>

#include "drapps/kernel/level.h"

namespace drapps::kernel::jpeg {

struct Unstuffed {
  std::size_t read;     // up to the marker that ended the data, or to the end
  std::size_t written;  // at most as many as read
};

/// Copies `n` bytes of `in` until a marker: 0xFF followed by something other than 0, or by the end.
/// @param out  room for n + kPadding bytes; those behind the written ones are left in any state.
Unstuffed unstuff(std::uint8_t* out, const std::uint8_t* in, std::size_t n, Level level = active_level()) noexcept;

}  // namespace drapps::kernel::jpeg
