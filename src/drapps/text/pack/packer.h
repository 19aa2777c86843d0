// Rows of one split, in order, made of its documents.
//
//   auto packer = make_packer({*corpus, *Storage::files(), ledger}, tokenizer, packing, split, {.epoch = epoch});
//   PackedRow row;
//   DRAPPS_RETURN_IF_ERROR(packer->next(row));
//   const PackCursor behind = packer->cursor();
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <vector>

#include "drapps/base/error.h"
#include "drapps/base/result.h"
#include "drapps/text/pack/document_encoder.h"
#include "drapps/text/pack/packing.h"

namespace drapps::text {

/// One row. What it points at is valid until the packer's next call.
struct PackedRow {
  std::span<const TokenId> ids;              // Packing::length + lookahead; of documents by themselves those used
  std::size_t used = 0;                      // of them; padding stands behind, and a row may be padding alone
  std::span<const std::uint32_t> documents;  // where documents begin in `ids`, ascending; none for what began before
  std::span<const DocumentPlace> origins;    // of these documents, and before them of what began before
};

/// One thread at a time.
class Packer {
 public:
  virtual ~Packer() = default;
  /// Where the next row begins.
  virtual PackCursor cursor() const noexcept = 0;
  /// The next row, after which the one behind it is the next. An error leaves the packer as it was, but for that of a
  /// bad row of ids: kResourceExhausted where there is no memory, and another call goes on; kNoGoodData where nothing
  /// good is to come; kInvalidArgument for a cursor that fits no document.
  virtual Status next(PackedRow& row) = 0;
  /// What was passed over of documents that are bad, since the last call.
  virtual std::vector<Error> take_errors() noexcept = 0;
};

/// The one that the packing asks for.
/// @param at         the row to begin with.
/// @param tokenizer  outlives the packer.
std::unique_ptr<Packer> make_packer(const CorpusAccess& access, const Tokenizer& tokenizer, const Packing& packing,
                                    std::uint32_t split, const PackCursor& at);

/// Documents stand one behind the other, and are cut where a row ends.
class ConcatenatingPacker final : public Packer {
 public:
  ConcatenatingPacker(const CorpusAccess& access, const Tokenizer& tokenizer, const Packing& packing,
                      std::uint32_t split, const PackCursor& at);
  PackCursor cursor() const noexcept override;
  Status next(PackedRow& row) override;
  std::vector<Error> take_errors() noexcept override { return encoder_.take_errors(); }

 private:
  Status encode();
  std::span<const TokenId> padded(std::size_t used, std::size_t wanted);

  const Packing packing_;
  DocumentEncoder encoder_;
  std::vector<TokenId> ids_;            // of documents that were encoded
  std::vector<TokenId> last_;           // of the last row, with its padding
  std::size_t head_ = 0;                // of the next row in ids_
  std::deque<EncodedDocument> begins_;  // of which ids are still to come, ascending; the first may begin before them
  std::uint64_t row_;
  std::uint64_t skip_;  // ids that were given before the first row
  std::vector<std::uint32_t> documents_;
  std::vector<DocumentPlace> origins_;
};

}  // namespace drapps::text
