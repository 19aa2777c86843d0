// Pieces of one memory that is copied to a device, or lies there.
#pragma once

#include <cstddef>

namespace drapps::device {

/// `bytes`, rounded up to the next place where a piece may begin: a multiple of 64.
constexpr std::size_t aligned(std::size_t bytes) noexcept { return (bytes + 63) / 64 * 64; }

}  // namespace drapps::device
