#include "drapps/text/corpus/line_index.h"

#include <simdjson.h>

#include <algorithm>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "drapps/base/caught.h"
#include "drapps/text/corpus/json_field.h"
#include "drapps/text/corpus/utf8.h"

namespace drapps::text {
namespace {

/// One line at a time.
class IndexedLines final : public NumberedDocuments {
 public:
  IndexedLines(const LineIndex& index, const CorpusAccess& access)
      : index_(index), corpus_(access.corpus), storage_(access.storage), input_(access.ledger) {
    const CorpusOptions& options = corpus_.options();
    if (options.format == DocumentFormat::kJsonLines) json_ = std::make_unique<JsonField>(options.field);
  }

  Status read(std::uint64_t number, DocumentChunk& documents) override {
    const LineIndex::IndexedLine at = index_.at(number);
    const std::size_t before = documents.text.size();
    Status status = catching([&] { return append(at, documents.text); });
    if (status.ok()) {
      const std::size_t size = documents.text.size() - before;
      if (size == 0) {
        ++documents.empty;
      } else {
        documents.each.push_back({.begin = before, .size = size, .file = at.file, .at = at.begin});
      }
      return ok_status();
    }
    documents.text.resize(before);
    Error& error = status.error();
    if (error.code == ErrorCode::kResourceExhausted) return status;
    error.path = corpus_.path(at.file);
    if (error.offset < 0) error.offset = static_cast<std::int64_t>(at.begin);
    add_error(std::move(error), at.file, documents);
    return ok_status();
  }
  void prefetch(std::uint64_t number) override { storage_.prefetch(range_of(index_.at(number))); }

 private:
  Location range_of(const LineIndex::IndexedLine& at) const {
    const std::uint64_t most = corpus_.options().max_document + 1;
    return corpus_.range(at.file, at.begin, std::min(at.end - at.begin, most));
  }
  Status append(const LineIndex::IndexedLine& at, std::string& text) {
    const std::size_t most = corpus_.options().max_document;
    auto bytes = fetch(at);
    if (!bytes.ok()) return std::move(bytes).error();
    std::string_view line = bytes->substr(0, bytes->find('\n'));
    if (line.size() > most) return too_large(most);
    if (json_ != nullptr) return append_field(line, text);
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (!is_utf8(line)) return no_utf8();
    text.append(line);
    return ok_status();
  }
  Status append_field(std::string_view line, std::string& text) {
    if (is_blank(line)) return ok_status();
    object_.assign(line);
    object_.append(simdjson::SIMDJSON_PADDING, '\0');
    auto value = json_->read(std::string_view(object_).substr(0, line.size()));
    if (!value.ok()) return std::move(value).error();
    text.append(*value);
    return ok_status();
  }
  Result<std::string_view> fetch(const LineIndex::IndexedLine& at) {
    ReadRequest request;
    request.at[kFirstPart] = range_of(at);
    request.parts = 1;
    request.into[kFirstPart] = &input_;
    DRAPPS_RETURN_IF_ERROR(storage_.read(request));
    const std::span<const std::uint8_t> read = request.bytes[kFirstPart];
    return std::string_view(reinterpret_cast<const char*>(read.data()), read.size());
  }

  const LineIndex& index_;
  const Corpus& corpus_;
  const FileReads storage_;
  Buffer input_;
  std::unique_ptr<JsonField> json_;
  std::string object_;
};

}  // namespace

Status LineIndex::add(FileWindow& file) {
  files_.push_back({.first = begins_.size(), .size = file.size()});
  bool begins = true;
  for (std::uint64_t offset = 0; offset < file.size();) {
    auto bytes = file.read(offset, std::min(FileWindow::kMaxPiece, file.size() - offset));
    if (!bytes.ok()) return std::move(bytes).error();
    const auto* const data = reinterpret_cast<const char*>(bytes->data());
    for (std::size_t at = 0; at < bytes->size();) {
      if (begins && data[at] != '\n') begins_.push_back(offset + at);
      const void* const feed = std::memchr(data + at, '\n', bytes->size() - at);
      begins = feed != nullptr;
      at = begins ? static_cast<std::size_t>(static_cast<const char*>(feed) - data) + 1 : bytes->size();
    }
    if (begins_.size() > kMostLines) {
      return Error{.code = ErrorCode::kTooLarge,
                   .stage = Stage::kSetup,
                   .message =
                       "there are more than 2^32 lines, which an order of single documents cannot hold; "
                       "shuffle blocks, or take fewer files"};
    }
    offset += bytes->size();
  }
  return file.check_unchanged();
}

LineIndex::IndexedLine LineIndex::at(std::uint64_t number) const noexcept {
  const auto behind = std::ranges::upper_bound(files_, number, {}, &IndexedFile::first);
  const IndexedFile& file = *(behind - 1);
  const bool last = number + 1 == (behind == files_.end() ? begins_.size() : behind->first);
  return {.file = static_cast<std::uint32_t>(behind - 1 - files_.begin()),
          .begin = begins_[number],
          .end = last ? file.size : begins_[number + 1]};
}

std::uint64_t LineIndex::number_of(std::uint32_t file, std::uint64_t at) const noexcept {
  const auto first = begins_.begin() + static_cast<std::ptrdiff_t>(first_of(file));
  const auto last = begins_.begin() + static_cast<std::ptrdiff_t>(first_of(file + 1));
  return static_cast<std::uint64_t>(std::lower_bound(first, last, at) - begins_.begin());
}

std::unique_ptr<NumberedDocuments> LineIndex::open(const CorpusAccess& access) const {
  return std::make_unique<IndexedLines>(*this, access);
}

}  // namespace drapps::text
