#include "drapps/kernel/gather.h"

#include <algorithm>
#include <cstring>

namespace drapps::kernel {
namespace {

// Memory answers after some 100 ns, in which a few rows of this size are copied; what is longer than kAhead bytes is
// found by the hardware's own prefetcher.
constexpr std::size_t kRowsAhead = 8;
constexpr std::size_t kAhead = 1024;

/// With a size that the compiler knows, a copy is a move or two.
template <std::size_t kBytes>
void gather_fixed(std::byte* out, const std::byte* in, std::ptrdiff_t stride,
                  std::span<const std::uint64_t> rows) noexcept {
  for (const std::uint64_t row : rows) {
    std::memcpy(out, in + static_cast<std::ptrdiff_t>(row) * stride, kBytes);
    out += kBytes;
  }
}

}  // namespace

void gather_rows(std::byte* out, const std::byte* in, std::ptrdiff_t stride, std::size_t row_bytes,
                 std::span<const std::uint64_t> rows) noexcept {
  switch (row_bytes) {
    case 1: return gather_fixed<1>(out, in, stride, rows);
    case 2: return gather_fixed<2>(out, in, stride, rows);
    case 4: return gather_fixed<4>(out, in, stride, rows);
    case 8: return gather_fixed<8>(out, in, stride, rows);
    default: break;
  }
  const auto at = [&](std::size_t i) { return in + static_cast<std::ptrdiff_t>(rows[i]) * stride; };
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (i + kRowsAhead < rows.size()) prefetch(at(i + kRowsAhead), std::min(row_bytes, kAhead));
    std::memcpy(out, at(i), row_bytes);
    out += row_bytes;
  }
}

}  // namespace drapps::kernel
