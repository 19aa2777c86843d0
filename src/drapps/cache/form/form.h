// The forms in which records are kept.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "drapps/augment/picture/fields.h"

namespace drapps::cache {

/// Each trades bytes for the work that a hit costs.
enum class FormId : std::uint8_t {
  kBytes,         // of its file
  kCoefficients,  // of a JPEG: decode/jpeg/coefficients.h
  kRaw,           // an array: form/array_codec.h
  kRawLz4,        // an array, compressed
  kRawZstd,
  kRawSnappy,
  kPrepared,  // an array, with the ops behind it that draw nothing
};
inline constexpr std::size_t kForms = 7;

/// Whether it is made by an ArrayCodec.
constexpr bool is_array(FormId form) noexcept { return form >= FormId::kRaw; }

}  // namespace drapps::cache

namespace drapps {

template <>
struct EnumNames<cache::FormId> {
  static constexpr std::array<std::string_view, cache::kForms> kNames{"bytes",    "coefficients", "raw",     "raw+lz4",
                                                                      "raw+zstd", "raw+snappy",   "prepared"};
};

}  // namespace drapps

namespace drapps::cache {

constexpr std::string_view name_of(FormId form) noexcept {
  return EnumNames<FormId>::kNames[static_cast<std::size_t>(form)];
}

}  // namespace drapps::cache
