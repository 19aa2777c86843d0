// Documents of one block, some at a time.
//
//   auto reader = read_documents({*corpus, *Storage::files(), ledger}, corpus->blocks()[7]);
//   DocumentChunk chunk;
//   while (*reader->next(chunk)) take(chunk);
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "drapps/base/error.h"
#include "drapps/base/result.h"
#include "drapps/text/corpus/corpus.h"

namespace drapps::text {

/// Where a document is.
struct DocumentPlace {
  std::uint32_t file = 0;   // of the corpus
  std::uint64_t block = 0;  // where what is compressed begins in the file; of foreign files the number of the block
  std::uint64_t at = 0;     // byte of the file, or of what is compressed from there on; of a foreign block, its number

  bool operator==(const DocumentPlace&) const = default;
};

/// Neighbouring documents, in UTF-8 and none empty, or errors in their place.
struct DocumentChunk {
  struct DocumentText {
    static constexpr std::int32_t kGood = -1;
    std::size_t begin = 0;  // in `text`
    std::size_t size = 0;
    std::int32_t error = kGood;  // or its place in `errors`
    std::uint32_t file = 0;      // of the corpus
    std::uint64_t at = 0;        // as DocumentPlace has it
  };
  std::string text;
  std::uint64_t block = 0;  // as DocumentPlace has it
  std::vector<DocumentText> each;
  std::vector<Error> errors;  // with path, offset and all
  std::uint64_t empty = 0;    // documents without a byte, which are left out

  std::string_view at(const DocumentText& one) const noexcept {
    return std::string_view(text).substr(one.begin, one.size);
  }
  void clear() noexcept {
    text.clear();
    each.clear();
    errors.clear();
    empty = 0;
  }
};

/// Reads the documents of one block. One thread. How many pieces a block has, and what stands in each, depends on the
/// file alone.
class DocumentReader {
 public:
  virtual ~DocumentReader() = default;
  /// The next piece; false where the block has ended. What cannot be read further is an error in the piece, the last of
  /// the block. kResourceExhausted is the only error that is returned; another call goes on.
  virtual Result<bool> next(DocumentChunk& documents) = 0;
  /// Does a part of what next() has to do, so that it takes less long; whether nothing is left to be done ahead. Errors
  /// as of next().
  virtual Result<bool> prepare() { return true; }
  /// Whether the piece that came last is known to be the block's last.
  virtual bool ended() const noexcept = 0;
};

/// A file of a corpus, and where in it texts lie one behind the other; negative where it has them otherwise.
struct DocumentFile {
  std::uint32_t number = 0;
  const std::string& path;
  std::int64_t texts_at = -1;
};

/// Adds texts that stand one behind the other in `bytes`, between neighbouring `offsets`, each with an error of the
/// file where it is not valid UTF-8; the first one is that of this number. Throws std::out_of_range for offsets that
/// are not within the bytes.
void add_documents(std::string_view bytes, std::span<const std::int64_t> offsets, const DocumentFile& file,
                   std::uint64_t number, DocumentChunk& documents);
/// Adds what is wrong in the place of a document.
void add_error(Error error, std::uint32_t file, DocumentChunk& documents);
/// The error of a document that has more than `most` bytes.
Error too_large(std::size_t most);

/// Reads files that are not of lines.
class ForeignDocuments {
 public:
  virtual ~ForeignDocuments() = default;
  /// @param block  of a corpus that was made with this; its offset and length mean what its maker says.
  virtual std::unique_ptr<DocumentReader> open(const CorpusAccess& access, const Block& block) const = 0;
  /// Announces what is read of a block first.
  virtual void prefetch(const CorpusAccess& /*access*/, const Block& /*block*/) const {}
};

/// The reader for the kind of documents that the corpus has.
std::unique_ptr<DocumentReader> read_documents(const CorpusAccess& access, const Block& block);
/// Announces what such a reader reads first.
void prefetch_documents(const CorpusAccess& access, const Block& block);

}  // namespace drapps::text
