// Rows of equal length, in which documents stand one behind the other.
#pragma once

#include <optional>

#include "drapps/modality/origin_list.h"
#include "drapps/modality/row_labels.h"
#include "drapps/modality/row_writer.h"

namespace drapps {

class PackedRows final : public RowWriter {
 public:
  PackedRows(const PackedTextPart& part, std::size_t sources, BatchLayout& layout);

  void write(const text::PackedRow& packed, const RowOrigin& origin, const BatchLayout& layout, std::byte* slot,
             std::uint32_t row) const override;
  bool finishes() const noexcept override { return fields_.cu_seqlens || origins_; }
  void finish(const BatchLayout& layout, std::byte* slot, std::uint32_t rows) const override;

 private:
  /// Whether rows may have padding.
  bool padded() const noexcept { return fields_.packing == text::Fit::kBestFit || fields_.ends; }
  /// The place behind the last id of a row that is no padding.
  std::uint32_t end(const text::PackedRow& packed) const;
  void count(const text::PackedRow& packed, std::int64_t* out) const;
  void number(const text::PackedRow& packed, std::int32_t* out) const;
  void join_ends(const BatchLayout& layout, std::byte* slot, std::uint32_t rows) const;
  void list_ends(const text::PackedRow& packed, std::int32_t* ends, std::int32_t* longest) const;

  const PackedTextFields fields_;
  const RowLabels row_labels_;
  const bool mixed_;
  std::optional<OriginList> origins_;
  // Places in the layout, of the columns that there are.
  std::size_t ids_ = 0, labels_ = 0, attention_ = 0, positions_ = 0, documents_ = 0, ends_ = 0, longest_ = 0,
              source_ = 0;
};

}  // namespace drapps
