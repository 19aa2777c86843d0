#include "drapps/text/corpus/arrow_strings.h"

#include <algorithm>
#include <utility>

#include "drapps/text/corpus/arrow_run_reader.h"

namespace drapps::text {
namespace {

constexpr std::uint64_t kPieceRows = 1024;

class NumberedRows final : public NumberedDocuments {
 public:
  NumberedRows(const ArrowStrings& strings, const CorpusAccess& access) : strings_(strings), reader_(access) {}
  Status read(std::uint64_t number, DocumentChunk& documents) override {
    auto read = reader_.read(strings_.at(number), 1, documents);
    return read.ok() ? ok_status() : Status(std::move(read).error());
  }
  void prefetch(std::uint64_t number) override { reader_.prefetch(strings_.at(number), 1); }

 private:
  const ArrowStrings& strings_;
  ArrowRunReader reader_;
};

/// A piece has at most kPieceRows rows, and kPiece bytes or one row.
class BlockOfRows final : public DocumentReader {
 public:
  BlockOfRows(const CorpusAccess& access, const ArrowStrings::ArrowPlace& first, std::uint64_t rows)
      : reader_(access), next_(first), left_(rows) {}
  Result<bool> next(DocumentChunk& documents) override {
    documents.clear();
    if (left_ == 0) return false;
    auto rows = reader_.read(next_, std::min(left_, kPieceRows), documents);
    if (!rows.ok()) return std::move(rows).error();
    next_.row += *rows;
    left_ -= *rows;
    prefetch();
    return true;
  }
  /// Announces the piece that comes next.
  void prefetch() const {
    if (left_ > 0) reader_.prefetch(next_, std::min(left_, kPieceRows));
  }
  bool ended() const noexcept override { return left_ == 0; }

 private:
  ArrowRunReader reader_;
  ArrowStrings::ArrowPlace next_;
  std::uint64_t left_;
};

}  // namespace

ArrowStrings::ArrowStrings(std::vector<ArrowRun> runs) {
  for (const ArrowRun& run : runs) {
    if (files_.size() <= run.file) files_.resize(run.file + std::size_t{1}, rows_);
    runs_.push_back({.run = run, .first = rows_, .of_file = rows_ - files_[run.file]});
    rows_ += run.rows;
  }
}

std::vector<Block> ArrowStrings::blocks() const {
  std::vector<Block> blocks;
  for (const PlacedRun& placed : runs_) {
    const std::uint64_t rows = placed.run.rows;
    const std::uint64_t parts = std::clamp<std::uint64_t>(placed.run.bytes / kBlockBytes, 1, rows);
    for (std::uint64_t part = 0; part < parts; ++part) {
      const std::uint64_t first = rows / parts * part + std::min(part, rows % parts);
      const std::uint64_t count = rows / parts + (part < rows % parts ? 1 : 0);
      blocks.push_back({placed.run.file, placed.of_file + first, count});
    }
  }
  return blocks;
}

ArrowStrings::ArrowPlace ArrowStrings::at(std::uint64_t number) const noexcept {
  const PlacedRun& placed = *(std::ranges::upper_bound(runs_, number, {}, &PlacedRun::first) - 1);
  return {.run = &placed.run, .row = number - placed.first, .of_file = placed.of_file};
}

std::unique_ptr<NumberedDocuments> ArrowStrings::open(const CorpusAccess& access) const {
  return std::make_unique<NumberedRows>(*this, access);
}

std::unique_ptr<DocumentReader> ArrowStrings::open(const CorpusAccess& access, const Block& block) const {
  return std::make_unique<BlockOfRows>(access, at(files_[block.file] + block.offset), block.length);
}

void ArrowStrings::prefetch(const CorpusAccess& access, const Block& block) const {
  BlockOfRows(access, at(files_[block.file] + block.offset), block.length).prefetch();
}

}  // namespace drapps::text
