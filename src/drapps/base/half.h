// Floats of 16 bits, as their bits: bfloat16, and IEEE 754's binary16, which numpy and torch call float16.
//
// Both are rounded to the nearest, ties to even, as torch rounds. A GPU's kernels run the same functions.
#pragma once

#include <bit>
#include <cstdint>

namespace drapps {

/// The bits of a finite number, or infinity, as a bfloat16.
constexpr std::uint16_t to_bfloat16(float value) noexcept {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  return static_cast<std::uint16_t>((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16);
}

constexpr float from_bfloat16(std::uint16_t bits) noexcept {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

/// `bits` without the lowest `count` of them, 1 to 31, rounded.
constexpr std::uint32_t rounded_off(std::uint32_t bits, std::uint32_t count) noexcept {
  return (bits + (std::uint32_t{1} << (count - 1)) - 1 + ((bits >> count) & 1)) >> count;
}

/// The bits of any number as a float16; from 65520 on, those of infinity.
constexpr std::uint16_t to_float16(float value) noexcept {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = (bits >> 16) & 0x8000;
  const std::uint32_t magnitude = bits & 0x7FFFFFFF;
  std::uint32_t half = 0x7C00;  // infinity
  if (magnitude > 0x7F800000) {
    half = 0x7E00;  // not a number
  } else if (magnitude < 0x33000000) {
    half = 0;  // less than half of the smallest one, 2^-24
  } else if (magnitude < 0x38800000) {
    half = rounded_off((magnitude & 0x7FFFFF) | 0x800000, 126 - (magnitude >> 23));  // less than 2^-14: so many 2^-24
  } else if (magnitude < 0x47800000) {
    half = rounded_off(magnitude - 0x38000000, 13);  // the exponent counts from -15 on; a carry goes into it
  }
  return static_cast<std::uint16_t>(sign | half);
}

constexpr float from_float16(std::uint16_t bits) noexcept {
  const std::uint32_t sign = (static_cast<std::uint32_t>(bits) & 0x8000) << 16;
  const std::uint32_t magnitude = bits & 0x7FFF;
  std::uint32_t wide = (magnitude << 13) + 0x38000000;
  if (magnitude >= 0x7C00) wide = (magnitude << 13) | 0x7F800000;
  if (magnitude < 0x400) wide = std::bit_cast<std::uint32_t>(static_cast<float>(magnitude) * 0x1p-24F);
  return std::bit_cast<float>(sign | wide);
}

}  // namespace drapps
