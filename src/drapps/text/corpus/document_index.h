// Documents by their numbers: what an order of single documents is read from, where that of blocks is not enough.
#pragma once

#include <cstdint>
#include <memory>

#include "drapps/base/result.h"
#include "drapps/text/corpus/corpus.h"
#include "drapps/text/corpus/document_reader.h"

namespace drapps::text {

/// One thread.
class NumberedDocuments {
 public:
  virtual ~NumberedDocuments() = default;
  /// Appends the document of a number below DocumentIndex::size(), or its error, to `documents`; nothing where it is
  /// empty. kResourceExhausted is the only error that is returned; another call goes on.
  virtual Status read(std::uint64_t number, DocumentChunk& documents) = 0;
  /// Announces that a document is read soon.
  virtual void prefetch(std::uint64_t /*number*/) {}
};

/// Immutable. They are numbered file by file, in the order of the corpus.
class DocumentIndex {
 public:
  virtual ~DocumentIndex() = default;
  virtual std::uint64_t size() const noexcept = 0;
  /// The number of the first document of a file, or of those behind it; size() behind the last file.
  virtual std::uint64_t first_of(std::uint32_t file) const noexcept = 0;
  /// The number of a document of a file, by what DocumentText has of it.
  virtual std::uint64_t number_of(std::uint32_t file, std::uint64_t at) const noexcept = 0;
  virtual std::unique_ptr<NumberedDocuments> open(const CorpusAccess& access) const = 0;
};

}  // namespace drapps::text
