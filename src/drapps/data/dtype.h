// Element types and memory orders of the tensors in a batch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace drapps {

/// Arrays come in any of these types, pictures in those of holds_pictures().
enum class Dtype : std::uint8_t {
  kUint8,
  kInt32,
  kInt64,
  kFloat32,
  kBfloat16,
  kBool,
  kInt8,
  kInt16,
  kUint16,
  kUint32,
  kUint64,
  kFloat16,
  kFloat64,
};
inline constexpr std::size_t kDtypes = 13;

/// Bytes of one element.
constexpr std::size_t size_of(Dtype dtype) noexcept {
  switch (dtype) {
    case Dtype::kUint8:
    case Dtype::kBool:
    case Dtype::kInt8: return 1;
    case Dtype::kBfloat16:
    case Dtype::kInt16:
    case Dtype::kUint16:
    case Dtype::kFloat16: return 2;
    case Dtype::kInt32:
    case Dtype::kUint32:
    case Dtype::kFloat32: return 4;
    case Dtype::kInt64:
    case Dtype::kUint64:
    case Dtype::kFloat64: return 8;
  }
  return 0;
}

/// Whether pictures can be written in it.
constexpr bool holds_pictures(Dtype dtype) noexcept { return dtype <= Dtype::kBfloat16 || dtype == Dtype::kFloat16; }

constexpr bool is_float(Dtype dtype) noexcept {
  return dtype == Dtype::kFloat32 || dtype == Dtype::kBfloat16 || dtype == Dtype::kFloat16 || dtype == Dtype::kFloat64;
}

/// The name that numpy and torch use, such as "uint8" or "bfloat16".
constexpr std::string_view name_of(Dtype dtype) noexcept {
  switch (dtype) {
    case Dtype::kUint8: return "uint8";
    case Dtype::kInt32: return "int32";
    case Dtype::kInt64: return "int64";
    case Dtype::kFloat32: return "float32";
    case Dtype::kBfloat16: return "bfloat16";
    case Dtype::kBool: return "bool";
    case Dtype::kInt8: return "int8";
    case Dtype::kInt16: return "int16";
    case Dtype::kUint16: return "uint16";
    case Dtype::kUint32: return "uint32";
    case Dtype::kUint64: return "uint64";
    case Dtype::kFloat16: return "float16";
    case Dtype::kFloat64: return "float64";
  }
  return "unknown";
}

/// Order of the elements of one picture in a batch: whole planes, or the channels of a pixel together.
enum class Layout : std::uint8_t { kNchw, kNhwc };

}  // namespace drapps
