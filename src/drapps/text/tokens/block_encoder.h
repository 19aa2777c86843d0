// The ids of a block's documents, for who writes them down.
//
//   BlockEncoder encoder({*corpus, *Storage::files(), ledger}, corpus->blocks()[7], tokenizer, {.eos = 50256});
//   EncodedPiece piece;
//   while (*encoder.next(threads, piece)) write(piece.ids);
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "drapps/base/error.h"
#include "drapps/base/result.h"
#include "drapps/text/corpus/corpus.h"
#include "drapps/text/corpus/document_reader.h"
#include "drapps/text/tokenizer.h"

namespace drapps::text {

/// What stands around the ids of each document.
struct DocumentMarks {
  std::optional<TokenId> bos{};
  std::optional<TokenId> eos{};
};

/// The ids of one piece of a block.
struct EncodedPiece {
  std::vector<TokenId> ids;           // of all documents, one behind the other
  std::vector<std::int32_t> lengths;  // of the documents that have any, in ids
  std::vector<Error> errors;          // of documents that are bad, and left out
};

/// One thread at a time. Which pieces there are follows from the file alone.
class BlockEncoder {
 public:
  /// The corpus, the storage and the tokenizer outlive the encoder.
  BlockEncoder(const CorpusAccess& access, const Block& block, const Tokenizer& tokenizer, const DocumentMarks& marks)
      : reader_(read_documents(access, block)), corpus_(access.corpus), tokenizer_(tokenizer), marks_(marks) {}

  /// Reads the next piece, and makes no ids of it. False where the block has ended.
  Result<bool> skip() { return reader_->next(chunk_); }
  /// The next piece; false where the block has ended. kResourceExhausted is the only error that is returned.
  /// @param threads  that make ids.
  Result<bool> next(unsigned threads, EncodedPiece& piece);

 private:
  Status encode(std::size_t first, std::size_t behind, unsigned threads, EncodedPiece& piece);

  const std::unique_ptr<DocumentReader> reader_;
  const Corpus& corpus_;
  const Tokenizer& tokenizer_;
  const DocumentMarks marks_;
  DocumentChunk chunk_;
  std::vector<DocumentChunk::DocumentText> good_;
};

}  // namespace drapps::text
