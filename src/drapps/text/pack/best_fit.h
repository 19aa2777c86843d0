// Packing by best fit: documents stay whole where they fit into a row.
//
// 1. Documents are taken in blocks of kDocuments, or of what is left of a window.
// 2. One that is longer than a row is cut into rows, and a rest.
// 3. Pieces are put into rows, the longest first, each into the fullest row that has room for it (best fit decreasing;
//    D. S. Johnson, "Near-optimal bin packing algorithms", MIT 1973); of equally long ones that which comes first.
// 4. Rows come in the order of the first piece that they have, and pieces in a row in the order of their documents.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "drapps/text/pack/packer.h"

namespace drapps::text {

/// Which pieces stand in which row: places in `lengths`, none of which is above `room`.
std::vector<std::vector<std::uint32_t>> best_fit(const std::vector<std::uint32_t>& lengths, std::uint32_t room);

class BestFitPacker final : public Packer {
 public:
  static constexpr std::size_t kDocuments = 1024;

  BestFitPacker(const CorpusAccess& access, const Tokenizer& tokenizer, const Packing& packing, std::uint32_t split,
                const PackCursor& at);
  PackCursor cursor() const noexcept override;
  Status next(PackedRow& row) override;
  std::vector<Error> take_errors() noexcept override { return encoder_.take_errors(); }

 private:
  struct Piece {
    std::size_t at;
    std::uint32_t size;
  };

  Status fill_block();

  const Packing packing_;
  DocumentEncoder encoder_;
  PackCursor block_;          // where one that is being filled began
  std::vector<TokenId> ids_;  // of the block
  std::vector<EncodedDocument> encoded_;
  std::vector<Piece> pieces_;
  std::vector<std::vector<std::uint32_t>> rows_;  // of pieces; empty while a block is being filled
  std::size_t next_ = 0;                          // of the rows
  std::uint64_t row_;
  std::uint64_t skip_;  // rows of the block that were given before the first one
  std::vector<TokenId> row_ids_;
  std::vector<std::uint32_t> documents_;
};

}  // namespace drapps::text
