// How ops are described: the types that a field may have, and the stored names of enumerations.
//
// The visitor `v` of fields(v) is called as v("name", member) with a member of one of these types only:
//
//   bool, std::int32_t, double
//   an enumeration that has EnumNames
//   std::array<double, 2>        a range [low, high]
//   std::vector<std::int32_t>    uint8 levels: one for all channels, or one for each
//   std::vector<float>           the same in the units of a finished row
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "drapps/data/picture.h"
#include "drapps/kernel/planes.h"
#include "drapps/kernel/resize.h"

namespace drapps {

/// The names under which an enumeration's values are stored: kNames[i] is that of the value i.
template <class E>
struct EnumNames;

/// How a picture is resized. kRandom is bilinear or bicubic, each half of the time. Masks always take the nearest.
enum class Interpolation : std::uint8_t { kNearest, kBilinear, kBicubic, kRandom };

using PadMode = kernel::PadMode;
using EraseMode = Erasure::Fill;

template <>
struct EnumNames<Interpolation> {
  static constexpr std::array<std::string_view, 4> kNames{"nearest", "bilinear", "bicubic", "random"};
};
template <>
struct EnumNames<PadMode> {
  static constexpr std::array<std::string_view, 4> kNames{"constant", "edge", "reflect", "symmetric"};
};
template <>
struct EnumNames<EraseMode> {
  static constexpr std::array<std::string_view, 3> kNames{"constant", "normal_per_channel", "normal_per_pixel"};
};
template <>
struct EnumNames<kernel::PassOrder> {
  static constexpr std::array<std::string_view, 2> kNames{"horizontal_first", "pillow13"};
};
// Pillow's arithmetic on pictures; PyTorch's on tensors of bytes, with and without antialiasing, and on floats.
template <>
struct EnumNames<kernel::Arithmetic> {
  static constexpr std::array<std::string_view, 4> kNames{"pillow", "torch_uint8", "torch_uint8_no_antialias",
                                                          "torch_float"};
};
template <>
struct EnumNames<kernel::Nearest> {
  static constexpr std::array<std::string_view, 2> kNames{"pillow", "torch"};
};

template <class E>
concept NamedEnum = requires { EnumNames<E>::kNames; };

template <NamedEnum E>
constexpr std::string_view name_of(E value) noexcept {
  return EnumNames<E>::kNames[static_cast<std::size_t>(value)];
}

/// Sets `value` to the one called `name`; false, and `value` unchanged, where there is none.
template <NamedEnum E>
constexpr bool parse(std::string_view name, E& value) noexcept {
  const auto& names = EnumNames<E>::kNames;
  const auto position = std::find(names.begin(), names.end(), name);
  if (position == names.end()) return false;
  value = static_cast<E>(position - names.begin());
  return true;
}

}  // namespace drapps
