// Where the lines of plain files begin: their documents by number.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "drapps/base/result.h"
#include "drapps/storage/file_window.h"
#include "drapps/text/corpus/document_index.h"

namespace drapps::text {

/// Takes eight bytes of memory for each line. A line without a byte has no number.
class LineIndex final : public DocumentIndex {
 public:
  /// Lists the lines of the next file of the corpus: reads all of it. kTooLarge above kMostLines of all files; errors
  /// of reading have an offset.
  Status add(FileWindow& file);

  std::uint64_t size() const noexcept override { return begins_.size(); }
  std::uint64_t first_of(std::uint32_t file) const noexcept override {
    return file < files_.size() ? files_[file].first : begins_.size();
  }
  std::uint64_t number_of(std::uint32_t file, std::uint64_t at) const noexcept override;
  std::unique_ptr<NumberedDocuments> open(const CorpusAccess& access) const override;

  /// A line, and what stands between it and the next one.
  struct IndexedLine {
    std::uint32_t file = 0;
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
  };
  IndexedLine at(std::uint64_t number) const noexcept;

  static constexpr std::uint64_t kMostLines = std::uint64_t{1} << 32;

 private:
  std::vector<std::uint64_t> begins_;  // bytes of their files
  struct IndexedFile {
    std::uint64_t first = 0;  // number of its first line, or of the next file's
    std::uint64_t size = 0;
  };
  std::vector<IndexedFile> files_;
};

}  // namespace drapps::text
