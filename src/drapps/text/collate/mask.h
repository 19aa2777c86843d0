// Masked language modelling: which tokens are to be predicted, and what stands in their place.
//
// The distributions are those of DataCollatorForLanguageModeling of transformers 5.23, after J. Devlin et al., "BERT",
// NAACL 2019; with whole words, a word is chosen by its first token.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "drapps/base/philox.h"

namespace drapps::text {

/// Ordinals from here down draw masks: which tokens are chosen and, one lower, what becomes of them. Tokens from
/// 2^18 and 2^16 on use others, further down by two.
inline constexpr std::uint16_t kOrdinalMask = 0xFFFC;
/// The label of what is not to be predicted.
inline constexpr std::int64_t kIgnored = -100;

struct Masking {
  double probability = 0.15;  // with which a token, or a word, is chosen
  double replaced = 0.8;      // with which a chosen token becomes the mask token
  double random = 0.1;        // with which a chosen token becomes any token; the others stay
  std::int64_t mask_id = 0;
  std::uint32_t vocabulary = 1;  // any token is below this
  bool whole_words = false;
};

/// A padded batch; rows lie one behind the other.
struct MaskedBatch {
  std::span<std::int64_t> ids;
  std::span<std::int64_t> labels;         // written: the ids as they were, or kIgnored
  std::span<const std::int64_t> special;  // not 0 where a token is never chosen
  std::span<const std::int64_t> places;   // of whole words: first character and the one behind the last, side by side
  std::size_t width = 0;
};

/// Chooses tokens and replaces them. Row i draws at the position of `first` and i, so that it gets the same choices
/// whoever makes it.
void mask_tokens(const MaskedBatch& batch, const Masking& masking, Coordinate first);

/// 1 for each id that is among `special`, which is sorted.
std::vector<std::int64_t> special_mask(std::span<const std::int64_t> ids, std::span<const std::int64_t> special);

}  // namespace drapps::text
