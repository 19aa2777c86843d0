// Rows of ids as the records of a source: row i has the ids from i * length on, or those of document i.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "drapps/source/source.h"
#include "drapps/text/tokens/token_set.h"

namespace drapps::text {

/// Which ids a row is made of.
struct TokenRow {
  std::uint32_t length = 0;
  std::uint32_t ahead = 0;   // ids behind the row that its labels need
  std::uint32_t behind = 0;  // ids before it, where its file has them, that tell whether a document begins with it
  bool documents = false;    // it has the ids of one document, at most length + ahead of them
  bool operator==(const TokenRow&) const = default;
};

class TokenSource final : public Source {
 public:
  /// As many rows as there are whole ones, where the ids behind the last are in none; or as many as documents.
  static std::uint64_t rows(const TokenSet& set, const TokenRow& row) noexcept {
    if (row.documents) return set.documents(0, set.size()).size();
    return set.size() < row.ahead ? 0 : (set.size() - row.ahead) / row.length;
  }
  /// Requires row.length > 0.
  TokenSource(std::shared_ptr<const TokenSet> set, const TokenRow& row)
      : Source(rows(*set, row), Hint{.bytes = Hint::saturated(row.length * std::uint64_t{2})}, {"tokens"}),
        set_(std::move(set)),
        row_(row) {}

  /// Of the set, the first id of a row.
  std::uint64_t first(std::uint64_t index) const noexcept {
    return row_.documents ? set_->documents(0, set_->size())[index] : index * row_.length;
  }
  /// How many ids it has, those ahead among them.
  std::uint64_t ids(std::uint64_t index) const noexcept {
    const std::uint64_t most = row_.length + std::uint64_t{row_.ahead};
    if (!row_.documents) return most;
    const std::uint64_t end = index + 1 < size() ? first(index + 1) : set_->size();
    return std::min(most, end - first(index));
  }
  /// The ids of a row that lie side by side in the first place that has some, with the `behind` ids before them.
  TokenPiece piece(std::uint64_t index) const noexcept {
    const std::uint64_t begin = first(index);
    TokenPiece piece = set_->piece(begin, ids(index));
    if (row_.behind == 0 || piece.begins) return piece;
    return set_->piece(begin - row_.behind, row_.behind + ids(index));
  }
  Location locate(std::uint64_t index, RecordPart /*part*/) const noexcept override { return piece(index).at; }
  std::string name(std::uint64_t index, RecordPart /*part*/) const override {
    const TokenPiece first = piece(index);
    return *first.path + "[" + std::to_string(first.offset) + ":" +
           std::to_string(first.offset + first.ids * size_of(first.dtype)) + "]";
  }
  std::string first_path() const override { return set_->path(0); }

  const std::shared_ptr<const TokenSet>& set() const noexcept { return set_; }
  const TokenRow& row() const noexcept { return row_; }

 private:
  const std::shared_ptr<const TokenSet> set_;
  const TokenRow row_;
};

}  // namespace drapps::text
