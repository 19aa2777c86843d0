// Which documents the rows of a batch are made of, as a list of its own in the batch.
#pragma once

#include <cstddef>
#include <cstdint>

#include "drapps/deliver/batch_layout.h"
#include "drapps/text/pack/packer.h"

namespace drapps {

/// A column "documents" of int64 with a line of four for each document in each row: the row, and its DocumentPlace.
/// Immutable.
class OriginList {
 public:
  /// @param most    documents of a row.
  /// @param matrix  the batch has one row, whose documents are those of a matrix, and are listed with theirs.
  OriginList(std::int64_t most, bool matrix, BatchLayout& layout);

  void write(const text::PackedRow& packed, const BatchLayout& layout, std::byte* slot, std::uint32_t row) const;
  /// Once all rows of a batch are written, what they have listed becomes one list.
  void finish(const BatchLayout& layout, std::byte* slot, std::uint32_t rows) const;

 private:
  const std::size_t column_;
  const bool matrix_;
};

}  // namespace drapps
