// What a model is to learn of a row of ids.
#pragma once

#include <cstdint>
#include <span>

#include "drapps/base/philox.h"
#include "drapps/modality/packed_text.h"
#include "drapps/modality/row_masks.h"
#include "drapps/text/pack/packer.h"

namespace drapps {

/// Immutable.
class RowLabels {
 public:
  explicit RowLabels(const PackedTextPart& part);

  bool any() const noexcept { return fields_.labels != CausalLabels::kNone; }
  /// Writes a label for each of the row's ids, which masks change. What is padding is not learnt.
  /// @param ids    those of the row that it has, as they stand in its column.
  /// @param draws  of masks.
  void write(const text::PackedRow& packed, const Coordinate& draws, std::span<std::int64_t> ids,
             std::span<std::int64_t> labels) const;

 private:
  void shift(const text::PackedRow& packed, std::span<std::int64_t> labels) const;

  const PackedTextFields fields_;
  const RowMasks masks_;
};

}  // namespace drapps
