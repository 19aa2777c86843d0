#include "drapps/text/corpus/line_reader.h"

#include <simdjson.h>

#include <algorithm>
#include <utility>

#include "drapps/base/caught.h"
#include "drapps/text/corpus/json_field.h"
#include "drapps/text/corpus/utf8.h"

namespace drapps::text {
LineReader::LineReader(const CorpusAccess& access, const Block& block)
    : corpus_(access.corpus), block_(block), reader_(access, block), skips_(!corpus_.begins_file(block)) {
  if (corpus_.options().format == DocumentFormat::kJsonLines) {
    json_ = std::make_unique<JsonField>(corpus_.options().field);
  }
}

LineReader::~LineReader() = default;

Result<bool> LineReader::next(DocumentChunk& documents) {
  documents.clear();
  documents.block = plain() ? 0 : block_.offset;
  if (ended_ && !taken_) return false;
  const bool files = corpus_.options().format == DocumentFormat::kFiles;
  Status status = catching([&] { return files ? read_whole(documents) : read_lines(documents); });
  if (!status.ok()) {
    if (status.error().code == ErrorCode::kResourceExhausted) return std::move(status).error();
    ended_ = true;  // what was read of the last line has no end, and is no document
    fail(std::move(status).error(), content_at_, documents);
  }
  return true;
}

Status LineReader::fill() {
  auto at = reader_.read(content_);
  if (!at.ok()) return std::move(at).error();
  at_ = *at;
  if (at_ != At::kWithin && !std::exchange(closing_, true)) block_end_ = content_.size();
  return ok_status();
}

Status LineReader::read_whole(DocumentChunk& documents) {
  while (at_ != At::kFileEnd) {
    const std::size_t most = corpus_.options().max_document;
    if (content_.size() > most) return too_large(most);
    DRAPPS_RETURN_IF_ERROR(fill());
  }
  documents.text.swap(content_);
  add_line(documents.text, is_utf8(documents.text), 0, documents);
  ended_ = true;
  return ok_status();
}

Status LineReader::read_lines(DocumentChunk& documents) {
  if (!taken_) DRAPPS_RETURN_IF_ERROR(find_lines());
  if (!taken_) return ok_status();
  take_lines();
  give(documents);
  return ok_status();
}

/// Reads until there are lines for a piece, or the block has ended.
Status LineReader::find_lines() {
  while (!ended_) {
    if (at_ != At::kFileEnd) DRAPPS_RETURN_IF_ERROR(fill());
    if (skips_ && !skip_line()) {
      ended_ = closing_;
      continue;
    }
    std::size_t size = 0;  // of the whole lines
    if (!closing_) {
      if (content_.size() < ContentReader::kPiece) continue;
      size = lines();
    } else if (lines() > block_end_) {
      size = content_.find('\n', block_end_) + 1;
      ended_ = true;
    } else if (at_ == At::kFileEnd) {
      size = content_.size();
      ended_ = true;
    } else {
      size = lines();
    }
    const std::size_t open = content_.size() - size;  // bytes of a line whose end was not read
    too_long_ = !ended_ && open > corpus_.options().max_document;
    if (!ended_ && !too_long_ && (closing_ || size == 0)) continue;
    taken_ = size;
    return ok_status();
  }
  return ok_status();
}

/// Drops what stands before the next line; false where the block has no line feed so far.
bool LineReader::skip_line() {
  const std::size_t end = closing_ ? block_end_ : content_.size();
  const std::size_t feed = content_.find('\n');
  skips_ = feed >= end;
  const std::size_t bytes = skips_ ? content_.size() : feed + 1;
  content_.erase(0, bytes);
  passed(bytes);
  return !skips_;
}

/// Bytes of the content up to its last line feed. What was read before is not looked at again, so that a long line
/// costs what its bytes cost.
std::size_t LineReader::lines() noexcept {
  const std::size_t feed = std::string_view(content_).substr(searched_).rfind('\n');
  if (feed != std::string_view::npos) lines_ = searched_ + feed + 1;
  searched_ = content_.size();
  return lines_;
}

/// Counts from behind so many bytes of the content, which are gone.
void LineReader::passed(std::size_t bytes) noexcept {
  content_at_ += bytes;
  lines_ -= std::min(lines_, bytes);
  searched_ -= std::min(searched_, bytes);
  block_end_ -= std::min(block_end_, bytes);
}

/// Makes documents of the lines that were taken.
void LineReader::take_lines() {
  content_.reserve(content_.size() + simdjson::SIMDJSON_PADDING);  // which is read, whatever it is
  const std::string_view lines = std::string_view(content_).substr(0, *taken_);
  const bool valid = json_ != nullptr || is_utf8(lines);
  while (done_ < lines.size()) {
    const std::size_t end = std::min(lines.find('\n', done_), lines.size());
    add_line(lines.substr(done_, end - done_), valid, done_, piece_);
    done_ = end + 1;
  }
  if (!too_long_) return;
  fail(too_large(corpus_.options().max_document), content_at_ + lines.size(), piece_);
  too_long_ = false;
  skips_ = true;
  ended_ = closing_;
}

/// Gives them, with the memory that their content was read to.
void LineReader::give(DocumentChunk& documents) {
  std::string behind = content_.substr(*taken_);
  content_.resize(json_ != nullptr ? texts_ : *taken_);
  content_.swap(behind);
  piece_.text.swap(behind);
  piece_.block = documents.block;
  documents = std::exchange(piece_, {});
  passed(*taken_);
  taken_.reset();
  done_ = texts_ = 0;
}

/// @param at  where the line begins in the content.
void LineReader::add_line(std::string_view line, bool valid, std::uint64_t at, DocumentChunk& documents) {
  DocumentChunk::DocumentText one{.begin = static_cast<std::size_t>(at),
                                  .size = line.size(),
                                  .file = block_.file,
                                  .at = (plain() ? block_.offset : 0) + content_at_ + at};
  Status status = ok_status();
  const std::size_t most = corpus_.options().max_document;
  if (line.size() > most) return fail(too_large(most), content_at_ + at, documents);
  std::string_view value;  // of JSON
  if (json_ != nullptr) {
    if (!is_blank(line)) {
      auto read = json_->read(line);
      if (read.ok()) {
        value = *read;
      } else {
        status = std::move(read).error();
      }
    }
    one.begin = texts_;
    one.size = value.size();
  } else {
    if (line.ends_with('\r') && corpus_.options().format == DocumentFormat::kLines) --one.size;
    if (!valid && !is_utf8(line)) status = no_utf8();
  }
  if (!status.ok()) return fail(std::move(status).error(), content_at_ + at, documents);
  if (one.size == 0) {
    ++documents.empty;
  } else {
    documents.each.push_back(one);
    texts_ += value.copy(content_.data() + texts_, value.size());  // not beyond the line
  }
}

/// @param at  in the block's content.
void LineReader::fail(Error error, std::uint64_t at, DocumentChunk& documents) const {
  error.path = corpus_.file(block_).path;
  if (error.offset < 0) {
    error.offset = static_cast<std::int64_t>(block_.offset + (plain() ? at : 0));
    if (!plain()) error.message += " (byte " + std::to_string(at) + " of what is compressed from there on)";
  }
  add_error(std::move(error), block_.file, documents);
}

}  // namespace drapps::text
