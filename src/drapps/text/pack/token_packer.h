// Rows of ids that were written before, as a source of a mixture: one behind the other, in a random order of rows.
//
// Row n of an epoch's rows, counted over all splits, is that which the epoch's permutation has at place n, or row n
// where nothing is shuffled. Row k of a split is row k · splits + split, so where a row is follows from its number
// alone.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "drapps/base/memory_ledger.h"
#include "drapps/data/buffer.h"
#include "drapps/source/permutation.h"
#include "drapps/storage/file_reads.h"
#include "drapps/text/pack/packer.h"
#include "drapps/text/tokens/token_set.h"

namespace drapps::text {

/// Rows that a set has, each with the ids beyond it that it is given.
std::uint64_t rows_of(const TokenSet& set, const Packing& packing) noexcept;

/// The packer of a token set, of Fit::kConcatenate. A row that is bad is an error, also among take_errors(), and the
/// next one comes behind it.
class TokenPacker final : public Packer {
 public:
  /// Requires rows_of() > 0. What it reads from outlives it.
  TokenPacker(const TokenSet& set, const FileReads& storage, MemoryLedger& ledger, const Packing& packing,
              std::uint32_t split, const PackCursor& at);
  PackCursor cursor() const noexcept override;
  Status next(PackedRow& row) override;
  std::vector<Error> take_errors() noexcept override { return std::exchange(errors_, {}); }

 private:
  /// Where a row lies in the set, with the id before it where that is wanted.
  struct PlacedRow {
    std::uint64_t begin;
    std::size_t before;  // 0 or 1
  };

  /// The number of a row of the split, over all splits and epochs of the pass.
  std::uint64_t number(std::uint64_t row) const noexcept { return row * packing_.splits + split_; }
  std::uint32_t epoch(std::uint64_t row) const noexcept {
    return first_epoch_ + static_cast<std::uint32_t>(number(row) / rows_);
  }
  std::uint64_t index(std::uint64_t row);
  PlacedRow placed(std::uint64_t row);
  void prefetch(std::uint64_t from);
  Status read(std::uint64_t first, std::uint64_t ids);
  void list_documents(std::uint64_t begin);

  const TokenSet& set_;
  const FileReads storage_;
  const Packing packing_;
  const std::uint32_t split_;
  const std::uint64_t rows_;
  std::uint64_t row_;
  std::uint64_t announced_ = 0;    // rows, up to this one
  std::uint32_t first_epoch_ = 0;  // of the pass
  std::optional<Permutation> order_;
  std::uint32_t order_epoch_ = 0;
  Buffer buffer_;
  std::vector<std::int64_t> wide_;
  std::vector<TokenId> ids_;
  std::size_t before_ = 0;            // ids before the row, with which ids_ begins
  std::vector<std::uint64_t> files_;  // first ids of files among those that were read, counted in them
  std::vector<std::uint32_t> documents_;
  DocumentPlace origin_;
  std::vector<Error> errors_;
};

}  // namespace drapps::text
