// Texts of one call that several threads encode, and what they make of them, in the texts' order.
#pragma once

#include <cstddef>
#include <mutex>
#include <optional>
#include <string_view>
#include <vector>

#include "drapps/text/tokenizer.h"

namespace drapps::text {

/// How many threads to use: as many as are asked for, or with 0 as many as these texts are worth; no more than `most`,
/// and no more than there are texts.
std::size_t threads_for(const std::vector<std::string_view>& texts, std::size_t asked, std::size_t most);

/// Neighbouring texts, in shares of about as many bytes: where each begins, and the end. There is one for each thread
/// at least if there are so many texts, and more where the texts are large, so that no thread waits long for another
/// and what a share becomes is in the core's cache when it is put where it belongs.
std::vector<std::size_t> shares_of(const std::vector<std::string_view>& texts, std::size_t threads);

/// Puts what becomes of shares one behind the other while threads work on the next ones.
class JoinedShares {
 public:
  JoinedShares(const std::vector<std::string_view>& texts, std::size_t shares);

  /// Takes what a share has become; `output` is empty then, with its memory for the next one. Called once for each
  /// share, by any thread. Throws std::bad_alloc.
  void add(std::size_t share, Tokenizer::Encoded& output);

  /// What all shares have become, once every share was added.
  Tokenizer::Encoded take() && { return std::move(all_); }

 private:
  std::mutex mutex_;  // guards what follows
  Tokenizer::Encoded all_;
  std::size_t next_ = 0;                                    // the share that belongs behind all_
  std::vector<std::optional<Tokenizer::Encoded>> waiting_;  // for those before them
};

}  // namespace drapps::text
