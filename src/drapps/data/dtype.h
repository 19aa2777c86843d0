// Element types and memory orders of the tensors in a batch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace drapps {

enum class Dtype : std::uint8_t { kUint8, kInt32, kInt64, kFloat32, kBfloat16 };

/// Bytes of one element.
constexpr std::size_t size_of(Dtype dtype) noexcept {
  switch (dtype) {
    case Dtype::kUint8: return 1;
    case Dtype::kBfloat16: return 2;
    case Dtype::kInt32:
    case Dtype::kFloat32: return 4;
    case Dtype::kInt64: return 8;
  }
  return 0;
}

/// The name that numpy and torch use: "uint8", "int32", "int64", "float32", "bfloat16".
constexpr std::string_view name_of(Dtype dtype) noexcept {
  switch (dtype) {
    case Dtype::kUint8: return "uint8";
    case Dtype::kInt32: return "int32";
    case Dtype::kInt64: return "int64";
    case Dtype::kFloat32: return "float32";
    case Dtype::kBfloat16: return "bfloat16";
  }
  return "unknown";
}

/// Order of the elements of one picture in a batch: whole planes, or the channels of a pixel together.
enum class Layout : std::uint8_t { kNchw, kNhwc };

}  // namespace drapps
