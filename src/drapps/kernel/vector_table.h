// Tables of constants for whole vectors. For *_<level>.cc only; everything has internal linkage, since each compiles it
// for its own level.
#pragma once

#include <cstddef>

namespace drapps::kernel {
namespace {  // NOLINT(google-build-namespaces)

template <class Element, std::size_t kSize>
struct alignas(64) VectorTable {
  Element at[kSize];
};

/// Element i is rule(i).
template <class Element, std::size_t kSize, class Rule>
constexpr VectorTable<Element, kSize> table_by(Rule rule) {
  VectorTable<Element, kSize> table{};
  for (std::size_t i = 0; i < kSize; ++i) table.at[i] = static_cast<Element>(rule(i));
  return table;
}

}  // namespace
}  // namespace drapps::kernel
