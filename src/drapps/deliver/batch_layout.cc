#include "drapps/deliver/batch_layout.h"

#include <algorithm>
#include <utility>

#include "drapps/data/buffer.h"

namespace drapps {

static_assert(sizeof(SlotHeader) <= kAlignment);

std::size_t BatchLayout::add(std::string name, Dtype dtype, std::vector<std::int64_t> row_shape) {
  std::size_t row_bytes = size_of(dtype);
  for (const std::int64_t dimension : row_shape) row_bytes *= static_cast<std::size_t>(dimension);
  columns_.push_back({std::move(name), dtype, std::move(row_shape), row_bytes, end_});
  end_ += (row_bytes * capacity_ + kAlignment - 1) / kAlignment * kAlignment;
  return columns_.size() - 1;
}

std::size_t BatchLayout::find(std::string_view name) const noexcept {
  const auto found =
      std::find_if(columns_.begin(), columns_.end(), [&](const Column& each) { return each.name == name; });
  return static_cast<std::size_t>(found - columns_.begin());
}

}  // namespace drapps
