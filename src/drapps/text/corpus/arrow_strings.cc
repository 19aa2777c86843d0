#include "drapps/text/corpus/arrow_strings.h"

#include <algorithm>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "drapps/base/caught.h"
#include "drapps/text/corpus/content_reader.h"
#include "drapps/text/corpus/utf8.h"

namespace drapps::text {
namespace {

constexpr std::uint64_t kPieceRows = 1024;

/// Neighbouring rows of one run. One thread.
class RunReader {
 public:
  explicit RunReader(const CorpusAccess& access)
      : corpus_(access.corpus), storage_(access.storage), input_(access.ledger) {}

  /// Appends the documents of at most `most` rows from a place on: as many as kPiece bytes have, and one at least. How
  /// many rows were passed; an error that is not kResourceExhausted is among the documents, in the place of them all.
  Result<std::uint64_t> read(const ArrowStrings::ArrowPlace& at, std::uint64_t most, DocumentChunk& documents) {
    const std::size_t text = documents.text.size(), each = documents.each.size();
    std::uint64_t rows = most;
    Status status = catching([&] { return append(at, rows, documents); });
    if (status.ok()) return rows;
    documents.text.resize(text);
    documents.each.resize(each);
    Error& error = status.error();
    if (error.code == ErrorCode::kResourceExhausted) return std::move(error);
    error.path = corpus_.path(at.run->file);
    if (error.offset < 0) error.offset = static_cast<std::int64_t>(at.run->offsets + at.row * at.run->width);
    add_error(std::move(error), at.run->file, documents);
    return rows;
  }

 private:
  Status append(const ArrowStrings::ArrowPlace& at, std::uint64_t& rows, DocumentChunk& documents) {
    const ArrowRun& run = *at.run;
    DRAPPS_RETURN_IF_ERROR(read_ends(run, at.row, rows));
    rows = together(rows);
    const std::size_t most = corpus_.options().max_document;
    if (size_of(0, 1) > most) return too_large(most);
    DRAPPS_RETURN_IF_ERROR(read_values(run, at.row, rows));
    const std::uint64_t content_at = run.content + static_cast<std::uint64_t>(ends_[0]);
    auto bytes = fetch(run.file, content_at, size_of(0, rows));
    if (!bytes.ok()) return std::move(bytes).error();
    const std::string_view content(reinterpret_cast<const char*>(bytes->data()), bytes->size());
    for (std::uint64_t row = 0; row < rows;) {
      std::uint64_t behind = row;
      while (behind < rows && has_value(run, at.row, behind)) ++behind;
      const std::span<const std::int64_t> ends(&ends_[row], behind - row + 1);
      const std::uint64_t begin = size_of(0, row);
      offsets_.assign(ends.begin(), ends.end());
      for (std::int64_t& offset : offsets_) offset -= ends.front();
      const DocumentFile file{run.file, corpus_.path(run.file), static_cast<std::int64_t>(content_at + begin)};
      add_documents(content.substr(begin, size_of(row, behind)), offsets_, file, at.of_file + at.row + row, documents);
      row = behind + 1;
    }
    return ok_status();
  }

  std::uint64_t size_of(std::uint64_t first, std::uint64_t behind) const noexcept {
    return static_cast<std::uint64_t>(ends_[behind] - ends_[first]);
  }
  /// How many of the rows are read at once: one that is too large comes first, and alone.
  std::uint64_t together(std::uint64_t rows) const noexcept {
    const std::size_t most = corpus_.options().max_document;
    if (size_of(0, 1) > most) return 1;
    std::uint64_t taken = 1;
    while (taken < rows && size_of(taken, taken + 1) <= most && size_of(0, taken + 1) <= ContentReader::kPiece) ++taken;
    return taken;
  }

  /// Where `rows` rows begin, and the last one ends, in the content; kCorrupt where they do not lie in it.
  Status read_ends(const ArrowRun& run, std::uint64_t row, std::uint64_t rows) {
    auto bytes = fetch(run.file, run.offsets + row * run.width, (rows + 1) * run.width);
    if (!bytes.ok()) return std::move(bytes).error();
    ends_.resize(rows + 1);
    if (run.width == sizeof(std::int64_t)) {
      std::memcpy(ends_.data(), bytes->data(), bytes->size());
    } else {
      narrow_.resize(rows + 1);
      std::memcpy(narrow_.data(), bytes->data(), bytes->size());
      std::ranges::copy(narrow_, ends_.begin());
    }
    const bool within = ends_.front() >= 0 && ends_.back() <= static_cast<std::int64_t>(run.bytes);
    if (within && std::ranges::is_sorted(ends_)) return ok_status();
    return Error{.code = ErrorCode::kCorrupt,
                 .stage = Stage::kDecode,
                 .message = "strings of the Arrow file lie outside of their bytes; write the file anew"};
  }
  Status read_values(const ArrowRun& run, std::uint64_t row, std::uint64_t rows) {
    if (run.validity == 0) return ok_status();
    auto bits = fetch(run.file, run.validity + row / 8, (row % 8 + rows + 7) / 8);
    if (!bits.ok()) return std::move(bits).error();
    values_.assign(bits->begin(), bits->end());
    return ok_status();
  }
  bool has_value(const ArrowRun& run, std::uint64_t first, std::uint64_t row) const noexcept {
    const std::uint64_t bit = first % 8 + row;
    return run.validity == 0 || (values_[bit / 8] >> (bit % 8) & 1) != 0;
  }
  /// Valid until the next call.
  Result<std::span<const std::uint8_t>> fetch(std::uint32_t file, std::uint64_t offset, std::uint64_t bytes) {
    if (bytes == 0) return std::span<const std::uint8_t>();
    ReadRequest request;
    request.at[kFirstPart] = corpus_.range(file, offset, bytes);
    request.parts = 1;
    request.into[kFirstPart] = &input_;
    DRAPPS_RETURN_IF_ERROR(storage_.read(request));
    return request.bytes[kFirstPart];
  }

  const Corpus& corpus_;
  const FileReads storage_;
  Buffer input_;
  std::vector<std::int64_t> ends_, offsets_;
  std::vector<std::int32_t> narrow_;
  std::vector<std::uint8_t> values_;
};

class NumberedRows final : public NumberedDocuments {
 public:
  NumberedRows(const ArrowStrings& strings, const CorpusAccess& access) : strings_(strings), reader_(access) {}
  Status read(std::uint64_t number, DocumentChunk& documents) override {
    auto read = reader_.read(strings_.at(number), 1, documents);
    return read.ok() ? ok_status() : Status(std::move(read).error());
  }

 private:
  const ArrowStrings& strings_;
  RunReader reader_;
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
    return true;
  }
  bool ended() const noexcept override { return left_ == 0; }

 private:
  RunReader reader_;
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

}  // namespace drapps::text
