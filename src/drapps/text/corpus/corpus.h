// Documents in files, by blocks: what a stream of text is read from.
//
//   auto corpus = Corpus::open({"a.jsonl.zst", "b.jsonl"}, {.format = DocumentFormat::kJsonLines});
//   auto reader = read_documents({**corpus, *Storage::files(), ledger}, (*corpus)->blocks()[7]);
//
// A block is what can be read without what stands before it: some 1 MiB of a plain file, frames of a zstd file, a whole
// gzip file. Opening reads no documents: sizes of files, and where the frames of zstd files lie.
//
// A line belongs to the block in which it begins, and one that begins right behind a block to that block. So a block is
// read from behind its first line feed on (but the first of a file) to the first one behind its end, and blocks may be
// cut anywhere.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "drapps/base/memory_ledger.h"
#include "drapps/base/result.h"
#include "drapps/storage/file_reads.h"
#include "drapps/storage/file_window.h"
#include "drapps/storage/location.h"
#include "drapps/storage/shard.h"
#include "drapps/storage/storage.h"

namespace drapps::text {

/// What one document is: a line, a field of the JSON object in a line, or all of a file.
enum class DocumentFormat : std::uint8_t { kLines, kJsonLines, kFiles };
/// How a file is compressed, by its first bytes.
enum class Compression : std::uint8_t { kNone, kZstd, kGzip };

struct CorpusOptions {
  DocumentFormat format = DocumentFormat::kLines;
  std::string field = "text";                         // of JSON objects
  std::size_t max_document = std::size_t{256} << 20;  // bytes of a line, or of a file that is a document
  bool by_number = false;                             // whether documents can be read in any order
};

/// Documents that begin in a range of a file, in bytes of the file.
struct Block {
  std::uint32_t file = 0;
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
};

class ForeignDocuments;  // document_reader.h
class DocumentIndex;     // document_index.h
class LineIndex;         // line_index.h
struct ArrowRun;         // arrow_strings.h

/// Immutable; shared by everything that reads from it.
class Corpus {
 public:
  struct File {
    std::string path;
    Compression compression = Compression::kNone;
    std::uint64_t size = 0;
    std::uint64_t first = 0;  // offset of its first block
    mutable Shard shard;      // which is kept open
  };

  /// kInvalidArgument without files, and where all are empty; kNotFound, kPermission, kIo, kUnsupported for what cannot
  /// be opened, and for compressed files by number; kCorrupt or kTruncated for a zstd file that is none, each with its
  /// path. By number all of each file of lines is read.
  static Result<std::shared_ptr<const Corpus>> open(const std::vector<std::string>& paths, CorpusOptions options);

  /// A corpus of files that something outside of the core reads, and has listed; kInvalidArgument without blocks.
  static Result<std::shared_ptr<const Corpus>> foreign(const std::vector<std::string>& paths,
                                                       const std::vector<std::uint64_t>& sizes,
                                                       std::vector<Block> blocks,
                                                       std::shared_ptr<const ForeignDocuments> reader);

  /// Strings in Arrow files, as something has listed them; errors as open(), and kTruncated for a run that does not lie
  /// in its file.
  static Result<std::shared_ptr<const Corpus>> arrow(const std::vector<std::string>& paths, std::vector<ArrowRun> runs,
                                                     CorpusOptions options);

  const CorpusOptions& options() const noexcept { return options_; }
  const std::vector<Block>& blocks() const noexcept { return blocks_; }
  const File& file(const Block& block) const noexcept { return *files_[block.file]; }
  /// Whether no block of its file stands before it.
  bool begins_file(const Block& block) const noexcept { return block.offset == files_[block.file]->first; }
  std::size_t files() const noexcept { return files_.size(); }
  const std::string& path(std::size_t file) const noexcept { return files_[file]->path; }
  /// Bytes of a file, as a storage is asked for them.
  Location range(std::uint32_t file, std::uint64_t offset, std::uint64_t length) const noexcept;
  /// Null for files of lines, and for those that are documents.
  const ForeignDocuments* foreign() const noexcept { return foreign_.get(); }
  /// Null where documents have no numbers: they are read by blocks, or each file is one.
  const DocumentIndex* index() const noexcept { return index_.get(); }
  /// How many blocks, or documents by number, splits share.
  std::uint64_t dealt() const noexcept;
  /// How many splits there may be: one for each block, or for kLeastDocuments by number.
  std::uint64_t most_splits() const noexcept;
  static constexpr std::uint64_t kLeastDocuments = 1024;
  /// Bytes of all files, as they lie in the storage.
  std::uint64_t bytes() const noexcept { return bytes_; }
  /// A number of the names (without folders), sizes and blocks of all files, and of what documents are.
  std::uint64_t fingerprint() const noexcept { return fingerprint_; }

 private:
  explicit Corpus(CorpusOptions options) : options_(std::move(options)) {}
  Result<FileWindow> add_file(const std::string& path);
  Status add(const std::string& path, LineIndex* lines);
  void sum_up();

  const CorpusOptions options_;
  std::vector<std::unique_ptr<File>> files_;
  std::vector<Block> blocks_;
  std::shared_ptr<const ForeignDocuments> foreign_;
  std::shared_ptr<const DocumentIndex> index_;
  std::uint64_t bytes_ = 0;
  std::uint64_t fingerprint_ = 0;
};

/// What reading takes, all of which outlives what reads.
struct CorpusAccess {
  const Corpus& corpus;
  FileReads storage;     // where its files lie
  MemoryLedger& ledger;  // of what is read into
};

}  // namespace drapps::text
