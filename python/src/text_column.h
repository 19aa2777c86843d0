// Columns of Arrow that Python has, and arrays that it gets.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "drapps/text/collate/column.h"

namespace drapps {

/// A column, and the objects whose memory it reads.
struct TextColumn {
  text::ChunkedColumn column;
  std::vector<nanobind::object> kept;
};

using Integers = nanobind::ndarray<const std::int64_t, nanobind::ndim<1>, nanobind::c_contig, nanobind::device::cpu>;

inline std::span<const std::int64_t> span_of(const Integers& numbers) { return {numbers.data(), numbers.size()}; }

/// Numbers that become an array of Python's without a copy.
template <class T>
nanobind::ndarray<nanobind::numpy, T> array_of(std::vector<T> numbers) {
  auto kept = std::make_unique<std::vector<T>>(std::move(numbers));
  T* const data = kept->data();
  const std::size_t size = kept->size();
  nanobind::capsule owner(kept.release(), [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  return nanobind::ndarray<nanobind::numpy, T>(data, {size}, owner);
}

}  // namespace drapps
