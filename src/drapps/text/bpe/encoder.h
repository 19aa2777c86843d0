// Text to ids: cutting, looking up, merging.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <utility>

#include "drapps/base/memory_ledger.h"
#include "drapps/text/bpe/merge_words.h"
#include "drapps/text/bpe/merger.h"
#include "drapps/text/bpe/model.h"
#include "drapps/text/bpe/part_cutter.h"
#include "drapps/text/bpe/pretoken_batch.h"
#include "drapps/text/bpe/shared_words.h"
#include "drapps/text/bpe/word_cache.h"
#include "drapps/text/bpe/word_kernels.h"
#include "drapps/text/id_buffer.h"
#include "drapps/text/pretokenize/cut.h"

namespace drapps::text {

/// What one thread encodes with: it remembers pretokens, which changes nothing but its speed.
class Encoder {
 public:
  /// Bytes that it takes for what it remembers, and how many more once it has seen many words.
  static constexpr std::size_t kMemory = WordCache::kMemory + PhraseCache::kMemory;
  static constexpr std::size_t kMoreMemory = WordCache::kGrownMemory + PhraseCache::kGrownMemory - kMemory;

  /// The model is used as long as the encoder.
  /// @param booked  where there is one, kMemory was reserved of it; all is released with the encoder.
  /// @param grows   whether it takes more, where `booked` has it.
  /// @param shared  what encoders of the same model and cut have merged; or null.
  Encoder(const BpeModel& model, Cut cut, MemoryLedger* booked = nullptr, bool grows = true,
          std::shared_ptr<SharedWords> shared = nullptr)
      : booked_(booked),
        grows_(grows),
        model_(model),
        cut_(cut),
        part_cutter_(model.boundaries),
        merger_(model),
        shared_(std::move(shared)) {
    if (shared_ != nullptr) shared_->join();
  }
  ~Encoder() {
    if (booked_ != nullptr) booked_->release(kMemory + more_);
  }
  Encoder(const Encoder&) = delete;
  Encoder& operator=(const Encoder&) = delete;

  /// Appends the ids of `text`, valid UTF-8 of less than 2^31 bytes. Throws std::bad_alloc, and is of no more use then.
  void encode(std::string_view text, IdBuffer& out);

 private:
  static constexpr std::size_t kSlack = 8;  // what is written beyond the ids

  /// Cuts what comes next.
  void cut_batch(PretokenBatch& batch) noexcept;
  struct UnknownWord {
    std::size_t number;     // in the batch
    const TokenId* behind;  // ids of what follows, in behind_
    MergedWord* merged;     // its ids, if learn() merged it
  };
  /// Writes the ids of unknown words, and of what follows them in behind_ up to `end`.
  TokenId* write_unknown(const PretokenBatch& batch, std::span<UnknownWord> words, const TokenId* end, TokenId* out);
  /// Merges those of a batch that can be merged side by side, and has words_ and phrases_ know them.
  void learn(const PretokenBatch& batch, std::span<UnknownWord> words);
  void grow();

  /// What is looked up by itself: a pretoken, or a part of one.
  struct WordInText {
    std::string_view bytes;
    WordKey key;          // as in a batch
    std::uint32_t place;  // where it is short
  };
  static WordInText word_at(const PretokenBatch& batch, std::size_t i) noexcept {
    return {batch.pretoken(i), batch.keys[i], batch.places[i]};
  }
  /// The token that it is by its bytes, or -1: a part is one only if the merges lead to it.
  TokenId find_token(const WordInText& word) const noexcept {
    return model_.whole_by_merges || !word.key.is_part() ? model_.whole.find(word.bytes, word.key.hash_of_bytes()) : -1;
  }
  bool has_phrase(const WordInText& word) const noexcept {
    return phrases_.has(word.bytes, word.key.hash_of_bytes(), word.key.is_part());
  }
  /// Remembers what a word is, if there is room for it.
  void keep(const WordInText& word, const TokenId* ids, std::size_t tokens) noexcept {
    if (word.key.is_short() && tokens - 1 < WordCache::kMaxIds) {
      words_.insert(word.key, word.place, ids, tokens);
    } else {
      phrases_.insert(word.bytes, word.key.hash_of_bytes(), word.key.is_part(), ids, tokens);
    }
  }
  /// Copies the ids of a short word that another encoder has merged, and keeps them; their number, or 0.
  std::size_t find_shared(const WordInText& word, TokenId* out) noexcept {
    if (shared_ == nullptr || !word.key.is_short()) return 0;
    const std::size_t tokens = shared_->find(word.key, out);
    if (tokens > 0) keep(word, out, tokens);
    return tokens;
  }
  /// Keeps the ids that a word was merged to, and shares them.
  void keep_merged(const WordInText& word, const TokenId* ids, std::size_t tokens) noexcept {
    keep(word, ids, tokens);
    if (shared_ != nullptr && word.key.is_short() && tokens - 1 < WordCache::kMaxIds) {
      shared_->insert(word.key, ids, tokens);
    }
  }
  /// Fetches what look_up() of a word whose bytes have this hash looks at.
  void fetch(std::uint64_t hash) const noexcept {
    model_.whole.fetch(hash);
    phrases_.fetch(hash);
  }
  /// Fetches what learn() looks at.
  void fetch_unknown(const WordKey& key) const noexcept {
    if (!key.is_short()) return;
    fetch(key.hash_of_bytes());
    if (shared_ != nullptr) shared_->fetch(key);
  }
  std::size_t find_phrase(const WordInText& word, TokenId* out) const noexcept {
    return phrases_.find(word.bytes, word.key.hash_of_bytes(), word.key.is_part(), out);
  }
  /// Writes the ids of a word, and keeps them.
  /// @param one_part  whether it is known to be merged as a whole.
  TokenId* look_up(const WordInText& word, TokenId* out, bool one_part = false);

  static constexpr std::size_t kParts = 32;  // that are found before the first is looked up
  /// Whether it is merged as a whole, and short enough to be so beside others.
  bool is_one_part(std::string_view bytes) const noexcept;
  /// Writes the ids that its parts merge to; `out` becomes their end. False, and nothing done, where it has but one
  /// part.
  bool merge_parts(std::string_view bytes, TokenId*& out);
  /// Its place is fetched while the next ones are found.
  WordInText part_of(std::string_view bytes) const noexcept;

  MemoryLedger* const booked_;
  bool grows_;
  std::size_t more_ = 0;
  const BpeModel& model_;
  const Cut cut_;
  PartCutter part_cutter_;
  Merger merger_;
  const MergeWords merge_words_ = merge_words_of();
  const WordKernels& kernels_ = word_kernels();
  WordCache words_;
  PhraseCache phrases_;
  const std::shared_ptr<SharedWords> shared_;
  std::array<WordInText, kParts> parts_;  // of one word: memory of merge_parts()
  // Memory of encode() and learn(); behind_ has the ids of what follows the first unknown word of a batch.
  std::array<UnknownWord, PretokenBatch::kMost> unknown_;
  std::array<TokenId, PretokenBatch::kMost * PhraseCache::kMaxIds + kSlack> behind_;
  std::array<std::string_view, PretokenBatch::kMost> unmerged_;
  std::array<MergedWord, PretokenBatch::kMost> merged_;
  const std::uint8_t* end_ = nullptr;  // of the text
};

}  // namespace drapps::text
