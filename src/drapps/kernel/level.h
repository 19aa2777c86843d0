// Which instructions the kernels use: chosen once for the process, the same results whichever it is.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace drapps::kernel {

/// Each level contains the ones before it.
enum class Level : std::uint8_t {
  kPortable,    // what every x86-64 has
  kAvx2,        // AVX2, BMI1, BMI2, FMA
  kAvx512,      // AVX-512 F, BW, VL, DQ
  kAvx512Vbmi,  // AVX-512 VBMI, VBMI2, VNNI
};

/// The best level of this CPU, lowered (never raised) by the environment variable
/// DRAPPS_SIMD=portable|avx2|avx512|avx512vbmi, which is read once. Any other value of it is ignored.
Level active_level() noexcept;

/// Every level this CPU has, lowest first, whatever the environment says.
std::span<const Level> supported_levels() noexcept;

/// "portable", "avx2", "avx512" or "avx512vbmi".
std::string_view name_of(Level level) noexcept;

}  // namespace drapps::kernel
