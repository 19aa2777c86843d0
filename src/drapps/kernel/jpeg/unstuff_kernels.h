// unstuff() once per SIMD level. For unstuff.cc and its tests.
#pragma once

#include "drapps/kernel/jpeg/unstuff.h"

namespace drapps::kernel::jpeg {

Unstuffed unstuff_portable(std::uint8_t* out, const std::uint8_t* in, std::size_t n) noexcept;  // the reference
Unstuffed unstuff_avx2(std::uint8_t* out, const std::uint8_t* in, std::size_t n) noexcept;
Unstuffed unstuff_avx512vbmi(std::uint8_t* out, const std::uint8_t* in, std::size_t n) noexcept;

}  // namespace drapps::kernel::jpeg
