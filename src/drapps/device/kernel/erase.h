// Rectangles of a finished row that are overwritten: batch/erase.h, element by element.
#pragma once

#include <bit>
#include <cstdint>

#include "drapps/base/exact_math.h"
#include "drapps/base/half.h"
#include "drapps/base/philox.h"
#include "drapps/device/kernel/picture_stages.h"

namespace drapps::device {

/// The last of a picture's erasures that has the pixel; or null.
inline const PictureErasure* erasure_at(const AugmentArguments& a, std::int32_t picture, std::int32_t y,
                                        std::int32_t x) {
  const PictureWork& work = a.work[picture];
  for (std::int32_t i = work.erasures; i-- > 0;) {
    const PictureErasure& one = a.erasures[work.first_erasure + i];
    if (y >= one.top && y < one.top + one.height && x >= one.left && x < one.left + one.width) return &one;
  }
  return nullptr;
}

/// The bits of an element that holds `value`; where elements are whole numbers, of a deviate, within ±6.4.
inline std::uint64_t element_of(float value, Number number) {
  if (number == Number::kFloat32) return std::bit_cast<std::uint32_t>(value);
  if (number == Number::kBfloat16) return to_bfloat16(value);
  if (number == Number::kFloat16) return to_float16(value);
  if (value <= 0.5F) return 0;
  const auto whole = static_cast<std::uint32_t>(value);
  const float rest = value - static_cast<float>(whole);
  return whole + (rest > 0.5F || (rest == 0.5F && whole % 2 == 1) ? 1 : 0);
}

/// What stands at (y, x) of channel `c`.
inline std::uint64_t erased(const PictureErasure& erasure, Number number, std::int32_t c, std::int32_t y,
                            std::int32_t x) {
  if (erasure.deviates == 0) return erasure.levels[c];
  const auto word = static_cast<std::uint32_t>(x - erasure.left);
  const auto words =
      philox4x32({static_cast<std::uint32_t>(c), 0, static_cast<std::uint32_t>(y - erasure.top),
                  static_cast<std::uint16_t>(word / 4)},
                 {static_cast<std::uint32_t>(erasure.key), static_cast<std::uint32_t>(erasure.key >> 32)});
  return element_of(static_cast<float>(exact::normal(words[word % 4])), number);
}

}  // namespace drapps::device
