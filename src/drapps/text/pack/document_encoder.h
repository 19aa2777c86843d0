// The ids of a split's documents, one document behind the other.
#pragma once

#include <cstddef>
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

/// Where the ids of a document begin, among others, and where the document is.
struct EncodedDocument {
  std::ptrdiff_t at;
  PackCursor cursor;
  DocumentPlace origin;
};

/// One thread at a time.
class DocumentEncoder {
 public:
  /// @param tokenizer  outlives the encoder.
  DocumentEncoder(const CorpusAccess& access, const Tokenizer& tokenizer, const Packing& packing, std::uint32_t split,
                  const PackCursor& at);

  /// Appends the ids of some documents that come next, at most so many, with what marks their beginnings and ends; a
  /// document without an id is none. Bad ones are passed over, and none comes where the split has ended. An error
  /// leaves all as it was: kResourceExhausted where there is no memory, and another call goes on; kNoGoodData where
  /// nothing good is to come.
  template <class Documents>
  Status encode(std::size_t most, std::vector<TokenId>& ids, Documents& documents);
  /// Where the document comes that is encoded next.
  PackCursor place() const noexcept { return reader_.place(0); }
  /// Whether the next one is of another window than those before.
  bool at_window_end() const noexcept { return reader_.left() == 0; }
  /// Whether nothing is to come.
  bool ended() const noexcept { return reader_.ended(); }
  /// What was passed over since the last call.
  std::vector<Error> take_errors() noexcept { return std::exchange(errors_, {}); }

 private:
  /// Encodes at most so many documents, and gives how many; none where the first one was passed over.
  Result<std::size_t> encode_texts(std::size_t most);

  const Tokenizer& tokenizer_;
  const Packing packing_;
  MemoryLedger& ledger_;
  SplitReader reader_;
  Tokenizer::Encoded encoded_;
  std::vector<Error> errors_;
};

template <class Documents>
Status DocumentEncoder::encode(std::size_t most, std::vector<TokenId>& ids, Documents& documents) {
  auto count = encode_texts(most);
  if (!count.ok()) return std::move(count).error();
  if (*count == 0) return ok_status();
  const std::size_t marks = (packing_.bos ? 1 : 0) + (packing_.eos ? 1 : 0);
  ids.reserve(ids.size() + encoded_.ids.size() + *count * marks);
  for (std::size_t i = 0; i < *count; ++i) {
    const EncodedDocument document{static_cast<std::ptrdiff_t>(ids.size()), reader_.place(i), reader_.origin(i)};
    if (packing_.bos) ids.push_back(*packing_.bos);
    ids.insert(ids.end(), encoded_.ids.data() + encoded_.offsets[i], encoded_.ids.data() + encoded_.offsets[i + 1]);
    if (packing_.eos) ids.push_back(*packing_.eos);
    if (static_cast<std::size_t>(document.at) != ids.size()) documents.push_back(document);
  }
  reader_.advance(*count);
  return ok_status();
}

}  // namespace drapps::text
