// A packed row becomes its row of each column of a batch.
#pragma once

#include <cstddef>
#include <cstdint>

#include "drapps/modality/columns.h"
#include "drapps/modality/packed_text.h"
#include "drapps/text/pack/packer.h"

namespace drapps {

/// Immutable.
class PackedRowWriter {
 public:
  /// Adds the columns that the fields ask for.
  /// @param sources  that rows come from; with several a row's is a column, int32, too.
  PackedRowWriter(const PackedTextFields& fields, std::size_t sources, BatchLayout& layout);

  /// @param layout  what the columns were added to, or a copy.
  void write(const text::PackedRow& packed, std::uint32_t source, const BatchLayout& layout, std::byte* slot,
             std::uint32_t row) const;

 private:
  template <class T>
  static T* numbers(const BatchLayout& layout, std::byte* slot, std::size_t column, std::uint32_t row) {
    return reinterpret_cast<T*>(layout.row(slot, column, row));
  }
  /// Whether rows may have padding.
  bool padded() const noexcept { return fields_.packing == text::Fit::kBestFit || fields_.ends; }
  /// Of what is no padding.
  std::uint32_t end(const text::PackedRow& packed) const;
  void write_labels(const text::PackedRow& packed, std::int64_t* labels) const;
  void count(const text::PackedRow& packed, std::int64_t* out) const;
  void number(const text::PackedRow& packed, std::int32_t* out) const;

  const PackedTextFields fields_;
  const bool mixed_;
  // Places in the layout, of those that there are.
  std::size_t ids_ = 0, labels_ = 0, attention_ = 0, positions_ = 0, documents_ = 0, source_ = 0;
};

}  // namespace drapps
