// The functions of expand.h, one set per SIMD level. For expand.cc only.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "drapps/kernel/jpeg/expand.h"
#include "drapps/kernel/jpeg/idct.h"

namespace drapps::kernel::jpeg {

static_assert(std::endian::native == std::endian::little);

struct ExpandKernels {
  std::size_t (*value_bytes)(const std::uint8_t* masks, std::size_t count);
  const std::uint8_t* (*expand)(std::int16_t* blocks, const std::uint8_t* masks, const std::uint8_t* dc,
                                const std::uint8_t* values, std::size_t count);
  std::uint8_t* (*pack)(std::uint8_t* masks, std::uint8_t* dc, std::uint8_t* values, const std::int16_t* blocks,
                        std::size_t count);
  std::uint64_t (*lane_sum)(const std::uint8_t* data, std::size_t lanes);
};

/// Members of more than one of the sets below.
const std::uint8_t* expand_avx2(std::int16_t* blocks, const std::uint8_t* masks, const std::uint8_t* dc,
                                const std::uint8_t* values, std::size_t count);
std::size_t value_bytes_avx512(const std::uint8_t* masks, std::size_t count);
std::uint64_t lane_sum_avx512(const std::uint8_t* data, std::size_t lanes);

extern const ExpandKernels kExpandPortable;  // the reference
extern const ExpandKernels kExpandAvx2;
extern const ExpandKernels kExpandAvx512;
extern const ExpandKernels kExpandAvx512Vbmi;

/// Factors of lane_sum: of the sums of the lower and of the upper words of each 8 bytes, then of the sums of those.
struct alignas(64) LaneFactors {
  std::array<std::uint64_t, 8> lower, upper, lower_twice, upper_twice;
};
inline constexpr LaneFactors kLaneFactors = [] {
  std::uint64_t state = 0;
  const auto next = [&state] {  // splitmix64
    state += 0x9E3779B97F4A7C15u;
    std::uint64_t z = (state ^ state >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return z ^ z >> 31;
  };
  LaneFactors factors{};
  for (auto& factor : factors.lower) factor = next() | 1;
  for (auto& factor : factors.upper) factor = next() | 1;
  for (auto& factor : factors.lower_twice) factor = next() & ~std::uint64_t{1};
  for (auto& factor : factors.upper_twice) factor = next() & ~std::uint64_t{1};
  return factors;
}();

// Unnamed on purpose: each level compiles these for itself, and the linker must not merge them.
namespace {  // NOLINT(google-build-namespaces)

inline std::uint64_t mask_at(const std::uint8_t* masks, std::size_t i) {
  std::uint64_t mask;
  std::memcpy(&mask, masks + kMaskBytes * i, sizeof mask);
  return mask;
}

inline std::size_t count_value_bytes(const std::uint8_t* masks, std::size_t count) {
  std::size_t sum = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t mask = mask_at(masks, i);
    sum += static_cast<std::size_t>(__builtin_popcountll(mask & ~kWide)) << (mask & kWide);
  }
  return sum;
}

/// One block, value by value.
inline void scatter(std::int16_t* block, std::uint64_t mask, const std::uint8_t* dc, const std::uint8_t* values) {
  std::memset(block, 0, kBlock * sizeof *block);
  std::memcpy(block, dc, kDcBytes);
  const std::size_t n = static_cast<std::size_t>(__builtin_popcountll(mask & ~kWide));
  const bool wide = (mask & kWide) != 0;
  std::size_t i = 0;
  for (std::uint64_t rest = mask & ~kWide; rest != 0; rest &= rest - 1, ++i) {
    const int high =
        wide ? static_cast<std::int8_t>(values[n + i]) * 256 + values[i] : static_cast<std::int8_t>(values[i]);
    block[__builtin_ctzll(rest)] = static_cast<std::int16_t>(high);
  }
}

inline std::uint8_t* pack_blocks(std::uint8_t* masks, std::uint8_t* dc, std::uint8_t* values,
                                 const std::int16_t* blocks, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    const std::int16_t* block = blocks + kBlock * i;
    std::memcpy(dc + kDcBytes * i, block, kDcBytes);
    std::uint64_t mask = 0;
    bool wide = false;
    for (std::size_t k = 1; k < kBlock; ++k) {
      mask |= static_cast<std::uint64_t>(block[k] != 0) << k;
      wide |= block[k] != static_cast<std::int8_t>(block[k]);
    }
    for (std::uint64_t rest = mask; rest != 0; rest &= rest - 1) {
      *values++ = static_cast<std::uint8_t>(block[__builtin_ctzll(rest)]);
    }
    if (wide) {
      for (std::uint64_t rest = mask; rest != 0; rest &= rest - 1) {
        *values++ = static_cast<std::uint8_t>(block[__builtin_ctzll(rest)] >> 8);
      }
      mask |= kWide;
    }
    std::memcpy(masks + kMaskBytes * i, &mask, sizeof mask);
  }
  return values;
}

}  // namespace
}  // namespace drapps::kernel::jpeg
