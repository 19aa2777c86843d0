// DocumentChunk of one block, some at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "drapps/base/error.h"
#include "drapps/base/memory_ledger.h"
#include "drapps/base/result.h"
#include "drapps/text/corpus/content_reader.h"
#include "drapps/text/corpus/corpus.h"

namespace drapps::text {

class JsonField;  // json_field.h

/// Neighbouring documents, in UTF-8 and none empty, or errors in their place.
struct DocumentChunk {
  struct One {
    static constexpr std::int32_t kGood = -1;
    std::size_t begin = 0;  // in `text`
    std::size_t size = 0;
    std::int32_t error = kGood;  // or its place in `errors`
  };
  std::string text;
  std::uint32_t file = 0;  // of the corpus, that they are from
  std::vector<One> each;
  std::vector<Error> errors;  // with path, offset and all
  std::uint64_t empty = 0;    // documents without a byte, which are left out

  std::string_view at(const One& one) const noexcept { return std::string_view(text).substr(one.begin, one.size); }
  void clear() noexcept {
    text.clear();
    each.clear();
    errors.clear();
    empty = 0;
  }
};

/// One thread. How many pieces a block has, and what stands in each, depends on the file alone.
class DocumentReader {
 public:
  DocumentReader(const CorpusAccess& access, const Block& block);
  ~DocumentReader();

  /// The next piece, of at most ContentReader::kPiece and as much more as its last line needs; false where the block
  /// has ended. What cannot be read further is an error in the piece, the last of the block. kResourceExhausted is the
  /// only error that is returned; another call goes on.
  Result<bool> next(DocumentChunk& documents);

 private:
  using At = ContentReader::At;

  Status read_whole(DocumentChunk& documents);
  Status read_lines(DocumentChunk& documents);
  Status fill();
  void drop(std::size_t bytes) noexcept;
  bool skip_line();
  void take_lines(std::size_t size, DocumentChunk& documents);
  void add_line(std::string_view line, bool valid, std::uint64_t at, DocumentChunk& documents);
  void fail(Error error, std::uint64_t at, DocumentChunk& documents) const;
  Error too_large() const;

  const Corpus& corpus_;
  const Block block_;
  ContentReader reader_;
  std::unique_ptr<JsonField> json_;  // of JSON lines
  std::string content_;              // what was read and not given
  std::uint64_t content_at_ = 0;     // where it begins in the block's content
  std::size_t block_end_ = 0;        // where the block ends in it, once `closing_`
  At at_ = At::kWithin;
  bool closing_ = false;
  bool skips_;  // to the next line feed, since what stands before it is no document of the block
  bool ended_ = false;
};

}  // namespace drapps::text
