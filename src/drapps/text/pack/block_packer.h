// Rows that are made of many documents at a time, so that little of them is padding.
//
// 1. Documents are taken in blocks of kDocuments, or of what is left of a window. Where epochs end, each piece of a
//    file is a window and a block: how many rows it makes is then the same in every epoch, whatever the order.
// 2. One that is longer than a row is cut: by best fit into rows and a rest, for a budget into parts (parts.h).
// 3. The pieces are put into rows as arrange.h says.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "drapps/text/pack/arrange.h"
#include "drapps/text/pack/packer.h"
#include "drapps/text/pack/parts.h"

namespace drapps::text {

/// The packer of Fit::kBestFit and Fit::kBudget. Behind the end of an epoch rows have no documents: one of kBestFit is
/// all padding, one of kBudget has no ids.
class BlockPacker final : public Packer {
 public:
  static constexpr std::size_t kDocuments = 1024;

  BlockPacker(const CorpusAccess& access, const Tokenizer& tokenizer, const Packing& packing, std::uint32_t split,
              const PackCursor& at);
  PackCursor cursor() const noexcept override;
  Status next(PackedRow& row) override;
  std::vector<Error> take_errors() noexcept override { return encoder_.take_errors(); }

 private:
  struct BlockPiece {
    Part part;
    std::size_t document = 0;  // of encoded_
  };

  Status fill_block();
  std::vector<std::uint32_t> cut();

  const Packing packing_;
  const bool budget_;
  const std::size_t most_;  // documents of a block
  DocumentEncoder encoder_;
  PackCursor block_;          // where one that is being filled began
  std::vector<TokenId> ids_;  // of the block
  std::vector<EncodedDocument> encoded_;
  std::vector<BlockPiece> pieces_;
  Arrangement rows_;      // of pieces; empty while a block is being filled
  std::size_t next_ = 0;  // of the rows
  std::uint64_t row_;
  std::uint64_t skip_;  // rows of the block that were given before the first one
  std::vector<TokenId> row_ids_;
  std::vector<std::uint32_t> documents_;
  std::vector<DocumentPlace> origins_;
};

}  // namespace drapps::text
