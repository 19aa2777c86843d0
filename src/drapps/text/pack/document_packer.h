// Rows of documents by themselves: each has one, or a part of one that is longer than a row.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "drapps/text/pack/packer.h"

namespace drapps::text {

class DocumentPacker final : public Packer {
 public:
  DocumentPacker(const CorpusAccess& access, const Tokenizer& tokenizer, const Packing& packing, std::uint32_t split,
                 const PackCursor& at);
  PackCursor cursor() const noexcept override;
  Status next(PackedRow& row) override;
  std::vector<Error> take_errors() noexcept override { return encoder_.take_errors(); }

 private:
  Status encode();
  std::span<const TokenId> document() const noexcept;

  const Packing packing_;
  DocumentEncoder encoder_;
  std::vector<TokenId> ids_;
  std::vector<EncodedDocument> encoded_;
  std::size_t next_ = 0;  // of encoded_
  std::uint64_t part_;    // of the next document
  std::uint64_t row_;
  std::vector<TokenId> row_ids_;
  DocumentPlace origin_;
};

}  // namespace drapps::text
