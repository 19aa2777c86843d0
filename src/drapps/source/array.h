// Records that are rows of arrays in memory: record i is row i of each array.
//
// The arrays stay the user's. Nothing is copied when the source is made: a row is read when its batch is filled, so a
// batch shows what the arrays hold then.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "drapps/base/result.h"
#include "drapps/data/array.h"
#include "drapps/source/source.h"

namespace drapps {

class ArraySource final : public Source {
 public:
  /// @param arrays   in the order of their columns; with `picture`, they come after it.
  /// @param picture  the records' pictures, or none.
  /// @param subset   record i is row subset[i]; null for all rows in their order.
  /// @param owner    keeps the memory alive as long as the source.
  /// kInvalidArgument where there is no array, or lengths, names, sizes or the subset make no sense.
  static Result<std::unique_ptr<ArraySource>> make(std::vector<Array> arrays, std::optional<PictureArray> picture,
                                                   std::shared_ptr<const std::vector<std::uint64_t>> subset,
                                                   std::shared_ptr<const void> owner);

  const ArraySource* rows() const noexcept override { return this; }
  /// Turns indices of records into those of their rows, in place.
  void to_rows(std::span<std::uint64_t> indices) const noexcept;
  /// The arrays whose rows are columns of a batch as they are.
  std::span<const Array> arrays() const noexcept { return columns_; }
  /// The pictures of all records, or null.
  const PictureArray* pictures() const noexcept { return picture_ ? &*picture_ : nullptr; }
  /// The pixels of the record's picture and all that is readable behind them; without pictures, the record's row of the
  /// first array.
  Location locate(std::uint64_t index, RecordPart part) const noexcept override;
  RecordIdentity identity(std::uint64_t index, RecordPart part) const noexcept override;
  std::string name(std::uint64_t index, RecordPart part) const override;

 private:
  ArraySource(std::uint64_t size, std::vector<Array> columns, std::optional<PictureArray> picture,
              std::shared_ptr<const std::vector<std::uint64_t>> subset, std::shared_ptr<const void> owner);
  std::uint64_t row(std::uint64_t index) const noexcept { return subset_ == nullptr ? index : (*subset_)[index]; }

  std::vector<Array> columns_;
  std::optional<PictureArray> picture_;
  std::shared_ptr<const std::vector<std::uint64_t>> subset_;
  std::shared_ptr<const void> owner_;
  const std::uint8_t* end_ = nullptr;  // of the memory that holds all pictures
};

/// The pictures of a source of rows, or null.
inline const PictureArray* pictures_of(const Source& source) noexcept {
  const ArraySource* const rows = source.rows();
  return rows == nullptr ? nullptr : rows->pictures();
}

}  // namespace drapps
