#include "drapps/text/corpus/document_reader.h"

#include <stdexcept>
#include <utility>

#include "drapps/text/corpus/content_reader.h"
#include "drapps/text/corpus/line_reader.h"
#include "drapps/text/corpus/utf8.h"

namespace drapps::text {

std::unique_ptr<DocumentReader> read_documents(const CorpusAccess& access, const Block& block) {
  if (access.corpus.foreign() != nullptr) return access.corpus.foreign()->open(access, block);
  return std::make_unique<LineReader>(access, block);
}

void prefetch_documents(const CorpusAccess& access, const Block& block) {
  if (access.corpus.foreign() != nullptr) return access.corpus.foreign()->prefetch(access, block);
  ContentReader::prefetch(access, block, block.offset);
}

void add_documents(std::string_view bytes, std::span<const std::int64_t> offsets, const DocumentFile& file,
                   std::uint64_t number, DocumentChunk& documents) {
  const std::size_t before = documents.text.size();
  documents.text.append(bytes);
  const bool valid = is_utf8(bytes);
  for (std::size_t i = 0; i + 1 < offsets.size(); ++i) {
    const auto begin = static_cast<std::uint64_t>(offsets[i]), end = static_cast<std::uint64_t>(offsets[i + 1]);
    if (begin > end || end > bytes.size()) throw std::out_of_range("offsets of documents are not within their bytes");
    if (begin == end) {
      ++documents.empty;
    } else if (valid || is_utf8(bytes.substr(begin, end - begin))) {
      documents.each.push_back({.begin = before + begin, .size = end - begin, .file = file.number, .at = number + i});
    } else {
      Error error = no_utf8();
      error.path = file.path;
      if (file.texts_at >= 0) error.offset = file.texts_at + offsets[i];
      add_error(std::move(error), file.number, documents);
    }
  }
}

void add_error(Error error, std::uint32_t file, DocumentChunk& documents) {
  documents.errors.push_back(std::move(error));
  documents.each.push_back({.error = static_cast<std::int32_t>(documents.errors.size() - 1), .file = file});
}

Error too_large(std::size_t most) {
  return {.code = ErrorCode::kTooLarge,
          .stage = Stage::kDecode,
          .message = "the document has more than " + std::to_string(most) + " bytes; cut it, or raise max_document"};
}

}  // namespace drapps::text
