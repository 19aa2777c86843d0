// A byte-level BPE tokenizer: text to ids and back, to the id as the library that its file is for.
//
//   const Tokenizer tokenizer(*parse_tokenizer_json(json));
//   auto encoded = tokenizer.encode(texts, 0, {.specials = true});  // text i: ids from offsets[i] to offsets[i + 1]
//   auto text = tokenizer.decode(ids, true, false);
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "drapps/base/memory_ledger.h"
#include "drapps/base/result.h"
#include "drapps/exec/worker_group.h"
#include "drapps/text/bpe/encoder.h"
#include "drapps/text/bpe/model.h"
#include "drapps/text/id_buffer.h"
#include "drapps/text/places.h"
#include "drapps/text/pretokenize/pattern.h"
#include "drapps/text/splitter.h"
#include "drapps/text/template.h"
#include "drapps/text/unicode/normalize.h"

namespace drapps::text {

/// A string that is a token wherever it stands in the text.
struct AddedToken {
  std::string content;
  TokenId id = -1;
  bool lstrip = false;      // takes the white space before it
  bool rstrip = false;      // takes the white space behind it
  bool normalized = false;  // looked for where no token without this was found
  bool special = false;     // left out when ids are decoded
};

/// What post-processing leaves out of the places of tokens: white space on either side, or not that which a text may
/// have been given at its beginning.
enum class Trim : std::uint8_t { kNone, kAll, kAllButFirst };

/// What a tokenizer consists of.
struct TokenizerParts {
  BpeModel model;
  Pattern pattern = Pattern::kGpt2;
  std::vector<Form> forms;  // what text is normalised to, one after the other
  std::vector<AddedToken> added;
  Template single{{.of = Piece::Of::kFirst}};
  std::optional<Template> pair{{{.of = Piece::Of::kFirst}, {.of = Piece::Of::kSecond, .type = 1}}};
  Trim trim = Trim::kNone;
  std::vector<std::string> decoded;  // the bytes of each id; empty for ids without a token
  std::size_t vocabulary = 0;        // how many tokens the library says there are
  bool decodes = true;               // whether decode() does what the library does
  bool added_on_request = false;     // added tokens are found only where they are asked for
};

/// What a call may use of the process.
struct CallResources {
  WorkerGroup* workers = nullptr;  // who helps the call's thread; null: nobody
  unsigned threads = 1;            // that work at once at most
  MemoryLedger* memory = nullptr;  // where what encoders remember is booked; outlives them, and has fewer if it refuses
};

/// Immutable but for the memory of its encoders; every function may be called from any thread.
class Tokenizer {
 public:
  /// Longest text in bytes.
  static constexpr std::size_t kMaxText = (std::size_t{1} << 31) - 1;

  struct Options {
    bool specials = true;                      // put each text into the template
    bool places = false;                       // tell where each token stands in its text
    bool repair = false;                       // texts may be no UTF-8, and are repaired (repair_utf8())
    const std::vector<bool>* added = nullptr;  // which added tokens are looked for; null: all, or none if on request
  };

  explicit Tokenizer(TokenizerParts parts);

  /// The ids of some texts.
  struct Encoded {
    IdBuffer ids;
    std::vector<std::int64_t> offsets;
    Places places;  // of all ids, but without those of the template
  };
  /// The ids of all texts, one behind the other, and where each text's begin and end: texts + 1 offsets. Texts are
  /// valid UTF-8, unless the options say otherwise. `threads` of the resources' work on neighbouring texts at once, or
  /// with 0 as many as there is enough to do for.
  /// @return kTooLarge for a text that is beyond kMaxText or becomes so when it is normalised; kUnsupported where
  ///     places are asked for of a text that is changed, or loses bytes, before it is tokens; kResourceExhausted
  ///     without memory.
  Result<Encoded> encode(const std::vector<std::string_view>& texts, unsigned threads, Options options,
                         const CallResources& resources = {}) const;

  /// The bytes of the ids, where decodes(); special tokens and ids without a token are left out where asked.
  /// @return kInvalidArgument for an id without a token, unless `lenient`.
  Result<std::string> decode(const std::vector<std::int64_t>& ids, bool skip_special, bool lenient) const;

  const std::vector<AddedToken>& added() const noexcept { return parts_.added; }
  std::size_t vocabulary() const noexcept { return parts_.vocabulary; }
  bool decodes() const noexcept { return parts_.decodes; }
  Pattern pattern() const noexcept { return parts_.pattern; }
  const Template& single() const noexcept { return parts_.single; }
  /// Nothing where a row of two texts cannot be described.
  const std::optional<Template>& pair() const noexcept { return parts_.pair; }
  Trim trim() const noexcept { return parts_.trim; }

 private:
  using Encoders = std::vector<std::unique_ptr<Encoder>>;
  /// An encoder that waits for the next call, and the thread that used it last.
  struct IdleEncoder {
    std::unique_ptr<Encoder> encoder;
    std::thread::id of;
  };

  /// Encoders for that many threads, or for fewer where memory is short: at least one.
  Encoders take_encoders(std::size_t threads, MemoryLedger* memory) const;
  void give_back(Encoders encoders) const noexcept;
  /// What encoders whose memory is booked there share. Requires mutex_.
  const std::shared_ptr<SharedWords>& shared_words(MemoryLedger* memory) const;

  struct TokenizerWork;
  struct Share;
  Result<Encoded> encode_shares(Encoders& encoders, const std::vector<std::string_view>& texts, Options options,
                                WorkerGroup& workers) const;
  Status encode_share(Encoder& encoder, const Share& share, Options options, Encoded& out) const;
  void encode_text(TokenizerWork& work, std::string_view text) const;
  void encode_rest(TokenizerWork& work, std::string_view text) const;
  std::string_view normalised(TokenizerWork& work, std::string_view text) const;
  template <class Rest>
  void split(const Splitter& splitter, const std::vector<std::uint32_t>& tokens, TokenizerWork& work,
             std::string_view text, const Rest& rest) const;

  const TokenizerParts parts_;
  const Cut cut_;
  std::vector<TokenId> prefix_;            // ids before those of a text, such as that of its beginning
  std::vector<TokenId> suffix_;            // ids behind those of a text, such as that of its end
  std::vector<bool> special_;              // by id
  std::vector<std::uint32_t> plain_;       // added tokens that are not normalized, in the order of the splitter
  std::vector<std::uint32_t> normalized_;  // added tokens that are normalized, in the order of their splitter
  Splitter plain_splitter_;
  Splitter normalized_splitter_;
  mutable std::mutex mutex_;  // guards the rest; only ever tried, since another thread may have held it at a fork
  mutable std::vector<IdleEncoder> encoders_;
  mutable std::shared_ptr<SharedWords> shared_;
};

}  // namespace drapps::text
