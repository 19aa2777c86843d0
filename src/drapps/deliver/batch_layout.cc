#include "drapps/deliver/batch_layout.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "drapps/data/buffer.h"

namespace drapps {

static_assert(sizeof(SlotHeader) <= kAlignment);
static_assert(sizeof(VaryingShape) <= kAlignment);

std::size_t BatchLayout::add(std::string name, Dtype dtype, std::vector<std::int64_t> row_shape) {
  std::size_t row_bytes = size_of(dtype);
  for (const std::int64_t dimension : row_shape) row_bytes *= static_cast<std::size_t>(dimension);
  columns_.push_back({std::move(name), dtype, std::move(row_shape), row_bytes, end_});
  end_ += (row_bytes * capacity_ + kAlignment - 1) / kAlignment * kAlignment;
  return columns_.size() - 1;
}

std::size_t BatchLayout::add_varying(std::string name, Dtype dtype, std::vector<std::int64_t> row_shape,
                                     std::uint32_t axes) {
  end_ += kAlignment;  // its shape
  const std::size_t column = add(std::move(name), dtype, std::move(row_shape));
  columns_[column].axes = axes;
  return column;
}

void BatchLayout::set_shape(std::byte* slot, std::size_t column, const VaryingShape& shape) const noexcept {
  std::memcpy(slot + columns_[column].offset - kAlignment, shape.data(), sizeof(shape));
}

std::vector<std::int64_t> BatchLayout::shape(const std::byte* slot, const Column& column, std::uint32_t rows) const {
  if (column.axes) {
    VaryingShape shape;
    std::memcpy(shape.data(), slot + column.offset - kAlignment, sizeof(shape));
    return {shape.begin(), shape.begin() + *column.axes};
  }
  std::vector<std::int64_t> shape{rows};
  shape.insert(shape.end(), column.row_shape.begin(), column.row_shape.end());
  return shape;
}

std::size_t BatchLayout::find(std::string_view name) const noexcept {
  const auto column =
      std::find_if(columns_.begin(), columns_.end(), [&](const Column& each) { return each.name == name; });
  return static_cast<std::size_t>(column - columns_.begin());
}

}  // namespace drapps
