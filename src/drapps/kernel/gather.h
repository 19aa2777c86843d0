// Rows of an array, picked by number and laid one after another: what a batch of small records is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace drapps::kernel {

/// out[i] = the `row_bytes` bytes at in + rows[i] * stride, for all i. The two do not overlap. Rows that lie far apart
/// are asked of memory some rows ahead, so that their latencies overlap.
/// @param stride  bytes from one row to the next; may be negative or 0
void gather_rows(std::byte* out, const std::byte* in, std::ptrdiff_t stride, std::size_t row_bytes,
                 std::span<const std::uint64_t> rows) noexcept;

/// Asks memory for the bytes at `at`, without waiting for them. They need not be readable.
inline void prefetch(const void* at, std::size_t bytes) noexcept {
  constexpr std::size_t kLine = 64;
  const auto* byte = static_cast<const char*>(at);
  for (std::size_t i = 0; i < bytes; i += kLine) __builtin_prefetch(byte + i);
}

}  // namespace drapps::kernel
