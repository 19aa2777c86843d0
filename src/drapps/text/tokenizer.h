// A byte-level BPE tokenizer: text to ids and back, to the id as the library that its file is for.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "drapps/base/result.h"
#include "drapps/text/bpe/encoder.h"
#include "drapps/text/bpe/model.h"
#include "drapps/text/id_buffer.h"
#include "drapps/text/pretokenize/pattern.h"
#include "drapps/text/splitter.h"

namespace drapps::text {

/// A string that is a token wherever it stands in the text.
struct AddedToken {
  std::string content;
  TokenId id = -1;
  bool lstrip = false;      // takes the white space before it
  bool rstrip = false;      // and behind it
  bool normalized = false;  // looked for where no token without this was found
  bool special = false;     // left out when ids are decoded
};

/// What a tokenizer consists of.
struct TokenizerParts {
  BpeModel model;
  Pattern pattern = Pattern::kGpt2;
  std::vector<AddedToken> added;
  std::vector<TokenId> prefix;       // ids before those of a text, such as that of its beginning
  std::vector<TokenId> suffix;       // and behind them
  std::vector<std::string> decoded;  // the bytes of each id; empty for ids without a token
  std::size_t vocabulary = 0;        // how many tokens the library says there are
  bool decodes = true;               // whether decode() does what the library does
  bool added_on_request = false;     // added tokens are found only where they are asked for
};

/// Immutable but for the memory of its encoders; every function may be called from any thread.
class Tokenizer {
 public:
  /// Longest text in bytes.
  static constexpr std::size_t kMaxText = (std::size_t{1} << 31) - 1;

  struct Options {
    bool specials = true;                      // put the prefix and the suffix around each text
    const std::vector<bool>* added = nullptr;  // which added tokens are looked for; null: all, or none if on request
  };

  explicit Tokenizer(TokenizerParts parts);

  /// The ids of all texts, one behind the other, and where each text's begin and end: texts + 1 offsets. Texts are
  /// valid UTF-8. `threads` work on neighbouring texts at once, or with 0 as many as this process has cores, if there
  /// is enough to do for them; where the system makes fewer, those that there are do it all.
  /// @return kTooLarge for a text beyond kMaxText, kResourceExhausted without memory.
  struct Encoded {
    IdBuffer ids;
    std::vector<std::int64_t> offsets;
  };
  Result<Encoded> encode(const std::vector<std::string_view>& texts, unsigned threads, Options options) const;

  /// The bytes of the ids, where decodes(); special tokens and ids without a token are left out where asked.
  /// @return kInvalidArgument for an id without a token, unless `lenient`.
  Result<std::string> decode(const std::vector<std::int64_t>& ids, bool skip_special, bool lenient) const;

  const std::vector<AddedToken>& added() const noexcept { return parts_.added; }
  std::size_t vocabulary() const noexcept { return parts_.vocabulary; }
  bool decodes() const noexcept { return parts_.decodes; }
  Pattern pattern() const noexcept { return parts_.pattern; }

 private:
  /// An encoder for one thread, from those that wait or made.
  std::unique_ptr<Encoder> take_encoder() const;
  void give_back(std::unique_ptr<Encoder> encoder) const noexcept;

  void encode_text(Encoder& encoder, std::string_view text, Options options, IdBuffer& out) const;
  void encode_rest(Encoder& encoder, std::string_view text, Options options, IdBuffer& out) const;
  template <class Rest>
  void split(const Splitter& splitter, const std::vector<std::uint32_t>& tokens, std::string_view text,
             const std::vector<bool>* wanted, IdBuffer& out, const Rest& rest) const;

  const TokenizerParts parts_;
  const Cut cut_;
  std::vector<bool> special_;              // by id
  std::vector<std::uint32_t> plain_;       // added tokens that are not normalized, in the order of the splitter
  std::vector<std::uint32_t> normalized_;  // the others
  Splitter plain_splitter_;
  Splitter normalized_splitter_;
  mutable std::mutex mutex_;  // guards encoders_; only ever tried, since another thread may have held it at a fork
  mutable std::vector<std::unique_ptr<Encoder>> encoders_;
};

}  // namespace drapps::text
