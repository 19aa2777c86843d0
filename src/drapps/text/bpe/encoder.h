// Text to ids: cutting, looking up, merging.
#pragma once

#include <cstdint>
#include <string_view>

#include "drapps/base/memory_ledger.h"
#include "drapps/text/bpe/merger.h"
#include "drapps/text/bpe/model.h"
#include "drapps/text/bpe/word_cache.h"
#include "drapps/text/id_buffer.h"
#include "drapps/text/pretokenize/cut.h"

namespace drapps::text {

/// What one thread encodes with: it remembers pretokens, which changes nothing but its speed.
class Encoder {
 public:
  /// Bytes that it takes for what it remembers.
  static constexpr std::size_t kMemory = WordCache::kMemory + PhraseCache::kMemory;

  /// The model is used as long as the encoder. kMemory is released to `booked`, where there is one, with the encoder.
  Encoder(const BpeModel& model, Cut cut, MemoryLedger* booked = nullptr)
      : booked_(booked), model_(model), cut_(cut), merger_(model) {}
  ~Encoder() {
    if (booked_ != nullptr) booked_->release(kMemory);
  }
  Encoder(const Encoder&) = delete;
  Encoder& operator=(const Encoder&) = delete;

  /// Appends the ids of `text`, valid UTF-8 of less than 2^31 bytes. Throws std::bad_alloc, and is of no more use then.
  void encode(std::string_view text, IdBuffer& out);

 private:
  /// Writes the ids of a pretoken that words_ does not have.
  TokenId* look_up(std::string_view pretoken, TokenId* out);

  /// Writes the ids that its parts merge to; `out` becomes their end. False, and nothing done, where it has but one
  /// part.
  bool merge_parts(std::string_view pretoken, TokenId*& out);
  TokenId* merge_part(std::string_view part, TokenId* out);

  MemoryLedger* const booked_;
  const BpeModel& model_;
  const Cut cut_;
  Merger merger_;
  WordCache words_;
  PhraseCache phrases_;
  const std::uint8_t* end_ = nullptr;  // of the text
};

}  // namespace drapps::text
