// Strings of neighbouring rows of an Arrow column: first where they lie, then their bytes.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "drapps/data/buffer.h"
#include "drapps/storage/file_reads.h"
#include "drapps/text/corpus/arrow_strings.h"
#include "drapps/text/corpus/document_reader.h"

namespace drapps::text {

/// Where the strings of some rows begin in the content of their run, and the last one ends.
class ArrowEnds {
 public:
  /// @param bytes  of the offsets of the rows, and of the one behind them; kCorrupt where they do not lie in the run.
  Status read(const ArrowRun& run, std::span<const std::uint8_t> bytes);
  std::int64_t first() const noexcept { return ends_.front(); }
  /// Bytes of some rows.
  std::uint64_t size_of(std::uint64_t first, std::uint64_t behind) const noexcept {
    return static_cast<std::uint64_t>(ends_[behind] - ends_[first]);
  }
  /// How many of the rows are read at once, where a document has at most so many bytes: one that is too large comes
  /// first, and alone.
  std::uint64_t together(std::size_t max_document) const noexcept;
  std::span<const std::int64_t> of(std::uint64_t first, std::uint64_t behind) const noexcept {
    return std::span(ends_).subspan(first, behind - first + 1);
  }

 private:
  std::vector<std::int64_t> ends_;
  std::vector<std::int32_t> narrow_;
};

/// One thread.
class ArrowRunReader {
 public:
  explicit ArrowRunReader(const CorpusAccess& access)
      : corpus_(access.corpus), storage_(access.storage), input_(access.ledger) {}

  /// Appends the documents of at most `most` rows from a place on: as many as kPiece bytes have, and one at least. How
  /// many rows were passed; an error that is not kResourceExhausted is among the documents, in the place of them all.
  Result<std::uint64_t> read(const ArrowStrings::ArrowPlace& at, std::uint64_t most, DocumentChunk& documents);
  /// Announces what such a read takes: the offsets, and as soon as these are there the bytes.
  void prefetch(const ArrowStrings::ArrowPlace& at, std::uint64_t most) const;

 private:
  Status append(const ArrowStrings::ArrowPlace& at, std::uint64_t& rows, DocumentChunk& documents);
  Status read_values(const ArrowRun& run, std::uint64_t row, std::uint64_t rows);
  bool has_value(const ArrowRun& run, std::uint64_t first, std::uint64_t row) const noexcept;
  Result<std::span<const std::uint8_t>> fetch(const Location& at);

  const Corpus& corpus_;
  const FileReads storage_;
  Buffer input_;
  ArrowEnds ends_;
  std::vector<std::int64_t> offsets_;
  std::vector<std::uint8_t> values_;
};

}  // namespace drapps::text
