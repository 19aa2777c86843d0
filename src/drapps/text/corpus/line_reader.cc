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
  if (ended_) return false;
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
    const bool too_long = !ended_ && open > corpus_.options().max_document;
    if (!ended_ && !too_long && (closing_ || size == 0)) continue;
    take_lines(size, documents);
    if (too_long) {
      fail(too_large(corpus_.options().max_document), content_at_, documents);
      skips_ = true;
      ended_ = closing_;
    }
    return ok_status();
  }
  return ok_status();
}

/// Drops what stands before the next line; false where the block has no line feed so far.
bool LineReader::skip_line() {
  const std::size_t end = closing_ ? block_end_ : content_.size();
  const std::size_t feed = content_.find('\n');
  skips_ = feed >= end;
  drop(skips_ ? content_.size() : feed + 1);
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

void LineReader::drop(std::size_t bytes) noexcept {
  content_.erase(0, bytes);
  content_at_ += bytes;
  lines_ -= std::min(lines_, bytes);
  searched_ -= std::min(searched_, bytes);
  block_end_ -= std::min(block_end_, bytes);
}

/// The lines in the first `size` bytes.
void LineReader::take_lines(std::size_t size, DocumentChunk& documents) {
  const std::size_t whole = content_.size();
  content_.append(simdjson::SIMDJSON_PADDING, '\0');
  const std::string_view lines = std::string_view(content_).substr(0, size);
  if (json_ != nullptr) {
    documents.text.reserve(size);
  } else {
    documents.text.assign(lines);
  }
  const bool valid = json_ != nullptr || is_utf8(lines);
  for (std::size_t begin = 0; begin < size;) {
    const std::size_t end = std::min(lines.find('\n', begin), size);
    add_line(lines.substr(begin, end - begin), valid, begin, documents);
    begin = end + 1;
  }
  content_.resize(whole);
  drop(size);
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
  if (json_ != nullptr) {
    one.begin = documents.text.size();
    if (!is_blank(line)) status = json_->read(line, documents.text);
    one.size = documents.text.size() - one.begin;
  } else {
    if (line.ends_with('\r') && corpus_.options().format == DocumentFormat::kLines) --one.size;
    if (!valid && !is_utf8(line)) status = no_utf8();
  }
  if (!status.ok()) return fail(std::move(status).error(), content_at_ + at, documents);
  if (one.size == 0) {
    ++documents.empty;
  } else {
    documents.each.push_back(one);
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
