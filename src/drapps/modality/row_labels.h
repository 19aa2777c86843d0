// What a model is to learn of a row of ids.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "drapps/base/philox.h"
#include "drapps/modality/packed_text.h"
#include "drapps/text/collate/mask.h"
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
  void mask(const text::PackedRow& packed, const Coordinate& draws, std::span<std::int64_t> ids,
            std::span<std::int64_t> labels) const;
  std::vector<std::int64_t> words_of(const text::PackedRow& packed, std::span<const std::int64_t> ids) const;
  void shift(const text::PackedRow& packed, std::span<std::int64_t> labels) const;

  const PackedTextFields fields_;
  const text::Masking masking_;
  const std::vector<std::int64_t> special_;  // ids that are never masked, ascending
  const std::vector<std::uint8_t> spaces_;   // of each id, where whole words are masked: on which side white space is
};

}  // namespace drapps
