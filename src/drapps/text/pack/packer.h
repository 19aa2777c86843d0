// Rows of one split, in order: documents are read, encoded, put behind one another and cut.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "drapps/base/error.h"
#include "drapps/base/memory_ledger.h"
#include "drapps/base/result.h"
#include "drapps/text/corpus/corpus.h"
#include "drapps/text/pack/packing.h"
#include "drapps/text/pack/split_reader.h"
#include "drapps/text/tokenizer.h"

namespace drapps::text {

/// One row. What it points at is valid until the packer's next call.
struct PackedRow {
  std::span<const TokenId> ids;              // Packing::length + lookahead
  std::span<const std::uint32_t> documents;  // where documents begin in `ids`, ascending; none for what began before
};

/// One thread at a time.
class Packer {
 public:
  /// @param at         the row to begin with.
  /// @param tokenizer  outlives the packer.
  Packer(const CorpusAccess& access, const Tokenizer& tokenizer, const Packing& packing, std::uint32_t split,
         const PackCursor& at);

  /// Where the next row begins.
  PackCursor cursor() const noexcept;
  std::uint64_t row() const noexcept { return row_; }
  /// The next row, after which the one behind it is the next. An error leaves the packer as it was:
  /// kResourceExhausted where there is no memory, and another call goes on; kInternal where nothing good is to come.
  Status next(PackedRow& row);
  /// What was passed over of documents that are bad, since the last call.
  std::vector<Error> take_errors() noexcept { return std::exchange(errors_, {}); }

 private:
  /// A document, and where its ids begin among those that are held.
  struct Begin {
    std::ptrdiff_t at;  // negative where some are no longer held
    PackCursor cursor;
  };

  Status encode(std::size_t most);
  Status pass_over(Error error);
  void append(const Tokenizer::Encoded& encoded, std::size_t documents);

  const Tokenizer& tokenizer_;
  const Packing packing_;
  MemoryLedger& ledger_;
  SplitReader reader_;
  std::vector<TokenId> ids_;  // of documents that were encoded
  std::size_t head_ = 0;      // of the next row among them
  std::deque<Begin> begins_;  // of documents of which ids are still to come, ascending
  std::uint64_t row_;
  std::uint64_t skip_;  // ids that were given before the first row
  std::vector<std::uint32_t> documents_;
  std::vector<Error> errors_;
};

}  // namespace drapps::text
