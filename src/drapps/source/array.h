// Records that are rows of arrays in memory: record i is row i of each array.
//
// The arrays stay the user's. Nothing is copied when the source is made: a row is read when its batch is filled, so a
// batch shows what the arrays hold then.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "drapps/base/result.h"
#include "drapps/data/dtype.h"
#include "drapps/data/image.h"
#include "drapps/source/source.h"

namespace drapps {

/// One array. The elements of a row follow one another without gaps; the rows may lie anywhere.
struct Array {
  std::string name;  // of its column in a batch
  Dtype dtype = Dtype::kUint8;
  std::vector<std::int64_t> row_shape;
  const std::byte* data = nullptr;  // row 0
  std::ptrdiff_t stride = 0;        // bytes from one row to the next
  std::uint64_t rows = 0;

  std::size_t row_bytes() const noexcept;
};

/// An array of uint8 pictures, all of one size, which ops may change and whose bytes become numbers as TensorFormat
/// says. Byte (i, c, y, x) is at data + i * stride + c * channel_stride + y * row_stride + x * pixel_stride.
struct PictureArray {
  std::string name;
  std::int32_t channels = 1;  // 1 … 4
  Extent extent;
  const std::uint8_t* data = nullptr;
  std::ptrdiff_t stride = 0;
  std::ptrdiff_t channel_stride = 0;
  std::ptrdiff_t row_stride = 0;
  std::ptrdiff_t pixel_stride = 0;
  std::uint64_t rows = 0;
};

class ArraySource final : public Source {
 public:
  /// @param arrays   in the order of their columns; with `picture`, they come after it.
  /// @param picture  or none.
  /// @param subset   record i is row subset[i]; null for all rows in their order.
  /// @param owner    keeps the memory alive as long as the source.
  /// kInvalidArgument where there is no array, or lengths, names, sizes or the subset make no sense.
  static Result<std::unique_ptr<ArraySource>> make(std::vector<Array> arrays, std::optional<PictureArray> picture,
                                                   std::shared_ptr<const std::vector<std::uint64_t>> subset,
                                                   std::shared_ptr<const void> owner);

  const ArraySource* arrays() const noexcept override { return this; }
  /// The first byte of the record's row in the first array.
  Location locate(std::uint64_t index, Part part) const noexcept override;
  std::string name(std::uint64_t index, Part part) const override;

  const std::vector<Array>& columns() const noexcept { return columns_; }
  const PictureArray* pictures() const noexcept { return picture_ ? &*picture_ : nullptr; }
  /// The row of a record.
  std::uint64_t row(std::uint64_t index) const noexcept { return subset_ == nullptr ? index : (*subset_)[index]; }
  bool is_subset() const noexcept { return subset_ != nullptr; }

  /// The picture of `row`, as planes: where it lies if it can be used there, else copied into `copy`. A view of the
  /// user's memory is not to be written to. kResourceExhausted as Buffer::ensure. Requires pictures().
  Result<ImageView> picture(std::uint64_t row, ImageBuffer& copy) const;
  /// The same with the rows of each plane joined to one: 1 x (height · width), for where only the order of the pixels
  /// matters.
  Result<ImageView> flat_picture(std::uint64_t row, ImageBuffer& copy) const;

 private:
  ArraySource(std::uint64_t size, std::vector<Array> columns, std::optional<PictureArray> picture,
              std::shared_ptr<const std::vector<std::uint64_t>> subset, std::shared_ptr<const void> owner);
  const std::uint8_t* pixels(std::uint64_t row) const noexcept {
    return picture_ ? picture_->data + static_cast<std::ptrdiff_t>(row) * picture_->stride : nullptr;
  }
  bool readable_behind(const std::uint8_t* end) const noexcept;
  void copy_planes(ImageView out, const std::uint8_t* from) const noexcept;

  std::vector<Array> columns_;
  std::optional<PictureArray> picture_;
  std::shared_ptr<const std::vector<std::uint64_t>> subset_;
  std::shared_ptr<const void> owner_;
  const std::uint8_t* end_ = nullptr;  // of the memory that holds all pictures
};

}  // namespace drapps
