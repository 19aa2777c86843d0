// Documents by themselves, padded to the rows of a matrix that is as wide as its batch needs.
#pragma once

#include <cstdint>
#include <optional>

#include "drapps/modality/origin_list.h"
#include "drapps/modality/row_labels.h"
#include "drapps/modality/row_writer.h"

namespace drapps {

/// Rows of Fit::kDocuments, each of which is one row of the matrix, and of Fit::kBudget, each of which is all of it.
class PaddedRows final : public RowWriter {
 public:
  PaddedRows(const PackedTextPart& part, std::size_t sources, BatchLayout& layout);

  void write(const text::PackedRow& packed, const RowOrigin& origin, const BatchLayout& layout, std::byte* slot,
             std::uint32_t row) const override;
  bool finishes() const noexcept override { return true; }
  void finish(const BatchLayout& layout, std::byte* slot, std::uint32_t rows) const override;

 private:
  struct Matrix {
    std::uint32_t rows = 0;
    std::uint32_t width = 0;
  };
  void put(std::int64_t* data, const Matrix& matrix, std::uint32_t row, const std::int64_t* from, std::int64_t size,
           std::int64_t fill) const;
  void write_matrix(const text::PackedRow& packed, const BatchLayout& layout, std::byte* slot) const;
  void gather(const BatchLayout& layout, std::byte* slot, std::uint32_t rows) const;
  void mark(const BatchLayout& layout, std::byte* slot, const Matrix& matrix) const;

  const PackedTextFields fields_;
  const text::Widths widths_;
  const RowLabels row_labels_;
  const bool budget_;
  const bool mixed_;
  std::optional<OriginList> origins_;
  // Places in the layout, of the columns that there are.
  std::size_t ids_ = 0, labels_ = 0, attention_ = 0, lengths_ = 0, source_ = 0;
};

}  // namespace drapps
