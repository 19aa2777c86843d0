// Masks in a row of ids, some of which are never chosen.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "drapps/base/philox.h"
#include "drapps/modality/mask_fields.h"
#include "drapps/text/collate/mask.h"
#include "drapps/text/tokenizer.h"

namespace drapps {

/// Immutable.
class RowMasks {
 public:
  /// @param tokenizer   whose special tokens are never chosen, and by whose texts words begin; null: there is none, and
  ///                    tokens are chosen one by one.
  /// @param vocabulary  a random token is below this.
  /// @param never       ids that are never chosen, beside the mask.
  RowMasks(const MaskFields& fields, const text::Tokenizer* tokenizer, std::uint32_t vocabulary,
           std::vector<std::int64_t> never);

  /// Masks some of a row's ids, and writes a label for each.
  /// @param documents  where documents begin among them, ascending; some may begin behind them.
  void apply(const Coordinate& draws, std::span<const std::uint32_t> documents, std::span<std::int64_t> ids,
             std::span<std::int64_t> labels) const;

 private:
  std::vector<std::int64_t> words_of(std::span<const std::uint32_t> documents, std::span<const std::int64_t> ids) const;

  const text::Masking masking_;
  const std::vector<std::int64_t> special_;  // ids that are never masked, ascending
  const std::vector<std::uint8_t> spaces_;   // of each id, where whole words are masked: on which side white space is
};

}  // namespace drapps
