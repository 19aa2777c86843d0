#include "drapps/text/corpus/arrow_run_reader.h"

#include <algorithm>
#include <cstring>
#include <string_view>
#include <utility>

#include "drapps/base/caught.h"
#include "drapps/text/corpus/content_reader.h"

namespace drapps::text {
namespace {

Location offsets_of(const Corpus& corpus, const ArrowRun& run, std::uint64_t row, std::uint64_t rows) {
  return corpus.range(run.file, run.offsets + row * run.width, (rows + 1) * run.width);
}

Location values_of(const Corpus& corpus, const ArrowRun& run, std::uint64_t row, std::uint64_t rows) {
  return corpus.range(run.file, run.validity + row / 8, (row % 8 + rows + 7) / 8);
}

Location content_of(const Corpus& corpus, const ArrowRun& run, const ArrowEnds& ends, std::uint64_t rows) {
  return corpus.range(run.file, run.content + static_cast<std::uint64_t>(ends.first()), ends.size_of(0, rows));
}

}  // namespace

Status ArrowEnds::read(const ArrowRun& run, std::span<const std::uint8_t> bytes) {
  ends_.resize(bytes.size() / run.width);
  if (run.width == sizeof(std::int64_t)) {
    std::memcpy(ends_.data(), bytes.data(), bytes.size());
  } else {
    narrow_.resize(ends_.size());
    std::memcpy(narrow_.data(), bytes.data(), bytes.size());
    std::ranges::copy(narrow_, ends_.begin());
  }
  const bool within = ends_.front() >= 0 && ends_.back() <= static_cast<std::int64_t>(run.bytes);
  if (within && std::ranges::is_sorted(ends_)) return ok_status();
  return Error{.code = ErrorCode::kCorrupt,
               .stage = Stage::kDecode,
               .message = "strings of the Arrow file lie outside of their bytes; write the file anew"};
}

std::uint64_t ArrowEnds::together(std::size_t max_document) const noexcept {
  const std::uint64_t rows = ends_.size() - 1;
  if (size_of(0, 1) > max_document) return 1;
  std::uint64_t taken = 1;
  while (taken < rows && size_of(taken, taken + 1) <= max_document && size_of(0, taken + 1) <= ContentReader::kPiece) {
    ++taken;
  }
  return taken;
}

Result<std::uint64_t> ArrowRunReader::read(const ArrowStrings::ArrowPlace& at, std::uint64_t most,
                                           DocumentChunk& documents) {
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

void ArrowRunReader::prefetch(const ArrowStrings::ArrowPlace& at, std::uint64_t most) const {
  if (storage_.ahead() == 0) return;
  storage_.prefetch(offsets_of(corpus_, *at.run, at.row, most),
                    [&corpus = corpus_, &run = *at.run, storage = storage_, row = at.row](auto bytes) {
                      ArrowEnds ends;
                      if (!ends.read(run, bytes).ok()) return;
                      const std::size_t max_document = corpus.options().max_document;
                      const std::uint64_t rows = ends.together(max_document);
                      if (ends.size_of(0, 1) > max_document) return;
                      if (run.validity != 0) storage.prefetch(values_of(corpus, run, row, rows));
                      storage.prefetch(content_of(corpus, run, ends, rows));
                    });
}

Status ArrowRunReader::append(const ArrowStrings::ArrowPlace& at, std::uint64_t& rows, DocumentChunk& documents) {
  const ArrowRun& run = *at.run;
  auto offsets = fetch(offsets_of(corpus_, run, at.row, rows));
  if (!offsets.ok()) return std::move(offsets).error();
  DRAPPS_RETURN_IF_ERROR(ends_.read(run, *offsets));
  const std::size_t most = corpus_.options().max_document;
  rows = ends_.together(most);
  if (ends_.size_of(0, 1) > most) return too_large(most);
  DRAPPS_RETURN_IF_ERROR(read_values(run, at.row, rows));
  const Location content_at = content_of(corpus_, run, ends_, rows);
  auto bytes = fetch(content_at);
  if (!bytes.ok()) return std::move(bytes).error();
  const std::string_view content(reinterpret_cast<const char*>(bytes->data()), bytes->size());
  for (std::uint64_t row = 0; row < rows;) {
    std::uint64_t behind = row;
    while (behind < rows && has_value(run, at.row, behind)) ++behind;
    const std::span<const std::int64_t> ends = ends_.of(row, behind);
    const std::uint64_t begin = ends_.size_of(0, row);
    offsets_.assign(ends.begin(), ends.end());
    for (std::int64_t& offset : offsets_) offset -= ends.front();
    const DocumentFile file{run.file, corpus_.path(run.file), static_cast<std::int64_t>(content_at.offset + begin)};
    add_documents(content.substr(begin, ends_.size_of(row, behind)), offsets_, file, at.of_file + at.row + row,
                  documents);
    row = behind + 1;
  }
  return ok_status();
}

Status ArrowRunReader::read_values(const ArrowRun& run, std::uint64_t row, std::uint64_t rows) {
  if (run.validity == 0) return ok_status();
  auto bits = fetch(values_of(corpus_, run, row, rows));
  if (!bits.ok()) return std::move(bits).error();
  values_.assign(bits->begin(), bits->end());
  return ok_status();
}

bool ArrowRunReader::has_value(const ArrowRun& run, std::uint64_t first, std::uint64_t row) const noexcept {
  const std::uint64_t bit = first % 8 + row;
  return run.validity == 0 || (values_[bit / 8] >> (bit % 8) & 1) != 0;
}

/// Valid until the next call.
Result<std::span<const std::uint8_t>> ArrowRunReader::fetch(const Location& at) {
  if (at.length == 0) return std::span<const std::uint8_t>();
  ReadRequest request;
  request.at[kFirstPart] = at;
  request.parts = 1;
  request.into[kFirstPart] = &input_;
  DRAPPS_RETURN_IF_ERROR(storage_.read(request));
  return request.bytes[kFirstPart];
}

}  // namespace drapps::text
