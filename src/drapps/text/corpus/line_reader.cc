#include "drapps/text/corpus/line_reader.h"

#include <simdjson.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "drapps/base/caught.h"
#include "drapps/text/corpus/json_field.h"
#include "drapps/text/corpus/utf8.h"

namespace drapps::text {
namespace {

// What is read and parsed at once of a piece: little enough that others need not wait long, and so much that what zstd
// refers to stays in the core's cache for most of it (a quarter of a piece took 4 % more CPU time, an eighth 9 %).
constexpr std::size_t kStep = ContentReader::kPiece / 2;
// Of a block, behind which it is known how much is left.
constexpr std::size_t kFirstStep = std::size_t{16} << 10;
// For the end of the last line, which stands behind the block, and what parsers want behind that: without room for them
// a whole piece would be copied to larger memory.
constexpr std::size_t kRoomBehind = std::size_t{128} << 10;

}  // namespace

LineReader::LineReader(const CorpusAccess& access, const Block& block)
    : corpus_(access.corpus),
      block_(block),
      reader_(access, block),
      mark_(ContentReader::kPiece),
      skips_(!corpus_.begins_file(block)) {
  if (corpus_.options().format == DocumentFormat::kJsonLines) {
    json_ = std::make_unique<JsonField>(corpus_.options().field);
  }
}

LineReader::~LineReader() = default;

Result<bool> LineReader::next(DocumentChunk& documents) {
  documents.clear();
  if (ended_ && !whole_) return false;
  while (!whole_) DRAPPS_RETURN_IF_ERROR(work());
  DRAPPS_RETURN_IF_ERROR(catching([&] { give(documents); }));
  return true;
}

Result<bool> LineReader::prepare() {
  if (!whole_ && !ended_) DRAPPS_RETURN_IF_ERROR(work());
  return whole_ || ended_;
}

/// Gives the piece, with the memory that its content was read to.
void LineReader::give(DocumentChunk& documents) {
  std::string behind = content_.substr(done_);
  content_.swap(behind);
  behind.resize(texts_);
  piece_.text.swap(behind);
  documents = std::exchange(piece_, {});
  documents.block = plain() ? 0 : block_.offset;
  passed(done_);
  texts_ = 0;
  whole_ = false;
}

/// Counts from behind so many bytes of the content, which are gone; the piece begins there.
void LineReader::passed(std::size_t bytes) noexcept {
  content_at_ += bytes;
  done_ -= bytes;
  searched_ -= std::min(searched_, bytes);
  block_end_ -= std::min(block_end_, bytes);
  piece_at_ = content_at_;
}

/// Some of what makes the piece whole. What was done stays done where memory ends, the only error.
Status LineReader::work() {
  const bool files = corpus_.options().format == DocumentFormat::kFiles;
  Status status = catching([&] { return files ? read_whole() : read_lines(); });
  if (status.ok() || status.error().code == ErrorCode::kResourceExhausted) return status;
  fail(std::move(status).error());
  end_block();  // what was read of the last line has no end, and is no document
  return ok_status();
}

Status LineReader::fill() {
  std::size_t most = ContentReader::kPiece;
  if (!closing_ && corpus_.options().format != DocumentFormat::kFiles) {
    most = std::min<std::uint64_t>(read() == 0 ? kFirstStep : kStep, mark_ - read());
    const std::uint64_t left = read() == 0 ? kFirstStep : std::min(reader_.left(), mark_ - read());
    content_.reserve(content_.size() + left + kRoomBehind);
  }
  auto at = reader_.read(content_, most);
  if (!at.ok()) return std::move(at).error();
  at_ = *at;
  if (at_ != At::kWithin && !std::exchange(closing_, true)) block_end_ = content_.size();
  return ok_status();
}

Status LineReader::read_whole() {
  const std::size_t most = corpus_.options().max_document;
  if (at_ != At::kFileEnd) return content_.size() > most ? too_large(most) : fill();
  take_line(content_.size(), false);
  end_block();
  return ok_status();
}

/// Reads some more, and takes its lines, or those that were not taken when memory ended.
Status LineReader::read_lines() {
  const bool taken = searched_ == content_.size() && at_ != At::kFileEnd;
  Status filled = taken ? fill() : ok_status();
  take_lines();  // those before the damage, where there is some
  if (!filled.ok()) return filled;
  if (!whole_ && at_ == At::kFileEnd) {
    if (done_ < content_.size()) take_line(content_.size(), false);
    end_block();
  }
  if (!whole_) end_piece();
  return ok_status();
}

/// Makes documents of whole lines.
void LineReader::take_lines() {
  content_.reserve(content_.size() + simdjson::SIMDJSON_PADDING);  // which is read, whatever it is
  const std::string_view content = content_;
  // What was searched before is not looked at again, so that a long line costs what its bytes cost.
  const std::size_t last = content.substr(searched_).rfind('\n');
  const std::size_t lines = last == std::string_view::npos ? done_ : searched_ + last + 1;
  const bool valid = json_ != nullptr || is_utf8(content.substr(done_, lines - done_));
  while (!whole_ && done_ < lines) {
    const std::size_t feed = content.find('\n', std::max(done_, searched_));
    const bool beyond = closing_ && feed >= block_end_;
    if (skips_ && beyond) break;
    if (!skips_) take_line(feed, valid);
    done_ = feed + 1;
    if (std::exchange(skips_, false)) piece_at_ = place();
    if (beyond) end_block();
  }
  searched_ = content.size();
  if (!skips_) return;
  content_.clear();
  done_ = searched_;
  passed(searched_);
  if (closing_) end_block();
}

/// Ends the piece where that is due, or its next line is too long.
void LineReader::end_piece() {
  if (!closing_) {
    if (read() < mark_) return;
    mark_ += ContentReader::kPiece;
    if (read() - piece_at_ < ContentReader::kPiece) return;
    whole_ = place() > piece_at_;
  }
  const std::size_t most = corpus_.options().max_document;
  if (content_.size() - done_ <= most) return;
  fail(too_large(most));
  skips_ = whole_ = true;
  ended_ = closing_;
}

/// @param end  of the line in the content.
void LineReader::take_line(std::size_t end, bool valid) {
  add_line(std::string_view(content_).substr(done_, end - done_), valid);
  done_ = end;
}

/// Adds the line that stands where lines are done.
/// @param valid  whether it is known to be UTF-8.
void LineReader::add_line(std::string_view line, bool valid) {
  const std::size_t most = corpus_.options().max_document;
  if (line.size() > most) return fail(too_large(most));
  if (json_ != nullptr) {
    if (is_blank(line)) return add_text({});
    auto value = json_->read(line);
    return value.ok() ? add_text(*value) : fail(std::move(value).error());
  }
  if (line.ends_with('\r') && corpus_.options().format == DocumentFormat::kLines) line.remove_suffix(1);
  if (!valid && !is_utf8(line)) return fail(no_utf8());
  add_text(line);
}

/// Writes a text over lines that are done.
/// @param text  has no more bytes than the line that it is from.
void LineReader::add_text(std::string_view text) {
  if (text.empty()) {
    ++piece_.empty;
    return;
  }
  piece_.each.push_back(
      {.begin = texts_, .size = text.size(), .file = block_.file, .at = (plain() ? block_.offset : 0) + place()});
  std::memmove(content_.data() + texts_, text.data(), text.size());
  texts_ += text.size();
}

/// Adds what is wrong with what stands where lines are done.
void LineReader::fail(Error error) {
  error.path = corpus_.file(block_).path;
  if (error.offset < 0) {
    error.offset = static_cast<std::int64_t>(block_.offset + (plain() ? place() : 0));
    if (!plain()) error.message += " (byte " + std::to_string(place()) + " of what is compressed from there on)";
  }
  add_error(std::move(error), block_.file, piece_);
}

}  // namespace drapps::text
