// Pieces of one memory that is copied to a device, or lies there.
#pragma once

#include <cstddef>
#include <cstdint>

namespace drapps::device {

/// `bytes`, rounded up to the next place where a piece may begin: a multiple of 64.
constexpr std::size_t aligned(std::size_t bytes) noexcept { return (bytes + 63) / 64 * 64; }

/// Bytes from one place of a device's memory to another one, perhaps of another piece of it.
inline std::int64_t bytes_between(const std::byte* from, const std::byte* to) noexcept {
  return reinterpret_cast<std::intptr_t>(to) - reinterpret_cast<std::intptr_t>(from);
}

}  // namespace drapps::device
