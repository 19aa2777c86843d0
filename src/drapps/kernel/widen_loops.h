// The loop of widen.h, which compilers vectorise. For widen_<level>.cc only; everything has internal linkage, since
// each compiles it for its own level.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace drapps::kernel {
namespace {  // NOLINT(google-build-namespaces)

template <class T>
std::uint64_t widen_all(std::int64_t* __restrict out, const std::uint8_t* __restrict in, std::size_t n) {
  T largest = 0;
  for (std::size_t i = 0; i < n; ++i) {
    T value;
    std::memcpy(&value, in + i * sizeof(T), sizeof(T));
    out[i] = static_cast<std::int64_t>(value);
    largest = value > largest ? value : largest;
  }
  return largest;
}

constexpr WidenKernels kWidenHere{&widen_all<std::uint8_t>, &widen_all<std::uint16_t>, &widen_all<std::uint32_t>,
                                  &widen_all<std::uint64_t>};

}  // namespace
}  // namespace drapps::kernel
