// Strings in a column of Arrow files that are not compressed, read from where they lie: a record batch has a buffer of
// offsets, one more than it has rows, and one of bytes (Arrow columnar format, "variable-size binary layout"). What
// lists them knows the format; this only reads.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "drapps/base/result.h"
#include "drapps/text/corpus/document_index.h"
#include "drapps/text/corpus/document_reader.h"

namespace drapps::text {

/// Strings of one record batch. Offsets are bytes of the file.
struct ArrowRun {
  std::uint32_t file = 0;      // of the corpus
  std::uint64_t rows = 0;      // at least one
  std::uint64_t offsets = 0;   // where they lie
  std::uint64_t width = 0;     // of one offset: 4 or 8 bytes
  std::uint64_t content = 0;   // where the bytes lie that they count
  std::uint64_t bytes = 0;     // of the content, in all
  std::uint64_t validity = 0;  // where a bit for each row lies that says whether it has a value; 0: all have
};

/// Rows are numbered over all runs; a block's offset is the number of its first row in its file, and its length how
/// many it has. Rows without a value are no documents.
class ArrowStrings final : public DocumentIndex, public ForeignDocuments {
 public:
  /// @param runs  in the order of their files.
  explicit ArrowStrings(std::vector<ArrowRun> runs);

  /// A block for every kBlockBytes of a run, or part of them, of equally many rows.
  std::vector<Block> blocks() const;
  static constexpr std::uint64_t kBlockBytes = std::uint64_t{1} << 20;

  std::uint64_t size() const noexcept override { return rows_; }
  std::uint64_t first_of(std::uint32_t file) const noexcept override {
    return file < files_.size() ? files_[file] : rows_;
  }
  std::uint64_t number_of(std::uint32_t file, std::uint64_t at) const noexcept override { return first_of(file) + at; }
  std::unique_ptr<NumberedDocuments> open(const CorpusAccess& access) const override;
  std::unique_ptr<DocumentReader> open(const CorpusAccess& access, const Block& block) const override;
  void prefetch(const CorpusAccess& access, const Block& block) const override;

  /// Where a row is.
  struct ArrowPlace {
    const ArrowRun* run;
    std::uint64_t row;      // of the run
    std::uint64_t of_file;  // the number of the run's first row
  };
  ArrowPlace at(std::uint64_t number) const noexcept;

 private:
  struct PlacedRun {
    ArrowRun run;
    std::uint64_t first = 0;    // number of its first row
    std::uint64_t of_file = 0;  // number of its first row in its file
  };
  std::vector<PlacedRun> runs_;
  std::vector<std::uint64_t> files_;  // number of the first row of each
  std::uint64_t rows_ = 0;
};

}  // namespace drapps::text
