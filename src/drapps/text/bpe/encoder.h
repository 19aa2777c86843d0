// Text to ids: cutting, looking up, merging.
#pragma once

#include <cstdint>
#include <string_view>

#include "drapps/text/bpe/merger.h"
#include "drapps/text/bpe/model.h"
#include "drapps/text/bpe/word_cache.h"
#include "drapps/text/id_buffer.h"
#include "drapps/text/pretokenize/cut.h"

namespace drapps::text {

/// What one thread encodes with: it remembers pretokens, which changes nothing but its speed.
class Encoder {
 public:
  /// The model is used as long as the encoder.
  Encoder(const BpeModel& model, Cut cut) : model_(model), cut_(cut), merger_(model) {}

  /// Appends the ids of `text`, valid UTF-8 of less than 2^31 bytes. Throws std::bad_alloc, and is of no more use then.
  void encode(std::string_view text, IdBuffer& out);

 private:
  /// Writes the ids of a pretoken that words_ does not have.
  TokenId* look_up(std::string_view pretoken, TokenId* out);

  /// Writes the ids that its parts merge to; `out` becomes their end. False, and nothing done, where it has but one
  /// part.
  bool merge_parts(std::string_view pretoken, TokenId*& out);
  TokenId* merge_part(std::string_view part, TokenId* out);

  const BpeModel& model_;
  const Cut cut_;
  Merger merger_;
  WordCache words_;
  PhraseCache phrases_;
  const std::uint8_t* end_ = nullptr;  // of the text
};

}  // namespace drapps::text
