#include "drapps/batch/erase.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "drapps/base/exact_math.h"
#include "drapps/base/philox.h"

namespace drapps {
namespace {

/// bfloat16 as its bits, so that it is a type of its own among the element types.
struct BfloatBits {
  std::uint16_t bits;
};

template <class T>
T element(float value) noexcept {
  if constexpr (std::is_same_v<T, float>) {
    return value;
  } else if constexpr (std::is_same_v<T, BfloatBits>) {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    return {static_cast<std::uint16_t>((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16)};
  } else {
    return static_cast<T>(std::nearbyint(std::clamp(value, 0.0F, 255.0F)));
  }
}

Draws deviates(const Erasure& erasure, std::int32_t channel, std::int32_t y) noexcept {
  return Draws(
      {.seed = erasure.key, .epoch = static_cast<std::uint32_t>(y), .position = static_cast<std::uint64_t>(channel)},
      0);
}

float deviate(Draws& draws) noexcept { return static_cast<float>(exact::normal(draws.u32())); }

/// What stands in a channel whose elements are all the same.
template <class T>
T level_of(const Erasure& erasure, std::int32_t channel) noexcept {
  if (erasure.fill == Erasure::Fill::kConstant) return element<T>(erasure.value[static_cast<std::size_t>(channel)]);
  Draws draws = deviates(erasure, channel, 0);
  return element<T>(deviate(draws));
}

/// Calls `as` with a value of the type of elements; not for a dtype that no picture is written in.
template <class As>
void with_element(Dtype dtype, As as) noexcept {
  switch (dtype) {
    case Dtype::kUint8: return as(std::uint8_t{});
    case Dtype::kInt32: return as(std::int32_t{});
    case Dtype::kInt64: return as(std::int64_t{});
    case Dtype::kFloat32: return as(float{});
    case Dtype::kBfloat16: return as(BfloatBits{});
    default: return;
  }
}

template <class T>
void erase_as(T* row, Layout layout, std::int32_t channels, Extent extent, const Erasure& erasure) noexcept {
  const bool planes = layout == Layout::kNchw;
  const std::ptrdiff_t step = planes ? 1 : channels;
  const Rect& rect = erasure.rect;
  for (std::int32_t c = 0; c < channels; ++c) {
    const bool each = erasure.fill == Erasure::Fill::kNormalPerPixel;
    const T level = each ? T{} : level_of<T>(erasure, c);
    T* const plane = row + (planes ? std::ptrdiff_t{c} * extent.height * extent.width : c);
    for (std::int32_t y = 0; y < rect.height; ++y) {
      T* out = plane + (std::ptrdiff_t{rect.top + y} * extent.width + rect.left) * step;
      if (each) {
        Draws draws = deviates(erasure, c, y);
        for (std::int32_t x = 0; x < rect.width; ++x, out += step) *out = element<T>(deviate(draws));
      } else {
        for (std::int32_t x = 0; x < rect.width; ++x, out += step) *out = level;
      }
    }
  }
}

}  // namespace

void erase(std::byte* row, kernel::RowFormat format, std::int32_t channels, Extent extent,
           const Erasure& erasure) noexcept {
  with_element(format.dtype, [&]<class T>(T /*type*/) {
    erase_as(reinterpret_cast<T*>(row), format.layout, channels, extent, erasure);
  });
}

std::uint64_t erased_level(Dtype dtype, const Erasure& erasure, std::int32_t channel) noexcept {
  std::uint64_t bits = 0;
  with_element(dtype, [&]<class T>(T /*type*/) {
    const T level = level_of<T>(erasure, channel);
    std::memcpy(&bits, &level, sizeof(level));
  });
  return bits;
}

}  // namespace drapps
