// Ids of tokens that were written before: files of integers, and their documents one behind the other.
//
//   TokenSet::Builder builder({.documents = DocumentsBy::kEos, .eos = 50256});
//   builder.add_plain("train.bin", Dtype::kUint16, 0);
//   auto set = std::move(builder).finish();
//   TokenPiece piece = (*set)->piece(4096, 1025);
//
// Opening reads sizes and indices, no ids. Those of all files are numbered from 0 on, in the order of the files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "drapps/base/result.h"
#include "drapps/data/dtype.h"
#include "drapps/storage/location.h"
#include "drapps/storage/shard.h"

namespace drapps::text {

/// What says where documents begin.
enum class DocumentsBy : std::uint8_t {
  kNothing,  // nobody asks
  kIndex,    // what lists the ids: an index, or a column of lists
  kEos,      // an id that ends each, and the end of each file
};

struct TokenSetOptions {
  DocumentsBy documents = DocumentsBy::kNothing;
  std::uint64_t eos = 0;
  std::uint64_t vocabulary = 0;  // ids are below it; 0: not known
};

/// Neighbouring ids in one file or in memory.
struct TokenPiece {
  Location at;
  std::uint64_t first = 0;  // of the set
  std::uint64_t ids = 0;
  Dtype dtype = Dtype::kUint16;
  std::uint64_t offset = 0;  // bytes, in the file at `path`
  std::uint32_t file = 0;    // its number in the set
  const std::string* path = nullptr;
  bool begins = false;  // whether they begin where their file's ids do
};

/// Immutable; shared by everything that reads from it.
class TokenSet {
 public:
  class Builder;

  std::uint64_t size() const noexcept { return size_; }
  const TokenSetOptions& options() const noexcept { return options_; }
  std::size_t files() const noexcept { return files_.size(); }
  const std::string& path(std::size_t file) const noexcept { return files_[file]->path; }
  /// The ids from `first` on, as many as lie side by side in one place, at most `most`. Requires first < size().
  TokenPiece piece(std::uint64_t first, std::uint64_t most) const noexcept;
  /// The first ids of documents that begin within [first, end), ascending; where DocumentsBy::kIndex.
  std::span<const std::uint64_t> documents(std::uint64_t first, std::uint64_t end) const noexcept;
  /// A number of the names (without folders), sizes and dtypes of all files, and of where in them the ids lie.
  std::uint64_t fingerprint() const noexcept { return fingerprint_; }
  /// The largest bits that an id of this dtype may have.
  std::uint64_t limit(Dtype dtype) const noexcept;

 private:
  struct TokenFile {
    std::string path;
    mutable Shard shard;  // which is kept open
  };
  struct Run {
    std::uint32_t file = 0;
    Dtype dtype = Dtype::kUint16;
    bool begins = false;                   // its file
    std::uint64_t offset = 0;              // bytes in the file
    const std::uint8_t* memory = nullptr;  // where the ids are in memory
    std::uint64_t first = 0;
    std::uint64_t ids = 0;
  };

  explicit TokenSet(const TokenSetOptions& options) : options_(options) {}
  void sum_up();

  const TokenSetOptions options_;
  std::vector<std::unique_ptr<TokenFile>> files_;
  std::vector<Run> runs_;  // none is empty
  std::vector<std::uint64_t> documents_;
  std::vector<std::shared_ptr<const void>> owners_;  // of memory
  std::uint64_t size_ = 0;
  std::uint64_t fingerprint_ = 0;
};

/// Every error names the file.
class TokenSet::Builder {
 public:
  explicit Builder(const TokenSetOptions& options) : set_(new TokenSet(options)) {}

  /// A file of ids alone, behind `header` bytes of something else. kCorrupt where it is no whole number of them.
  Status add_plain(const std::string& path, Dtype dtype, std::uint64_t header);
  /// A .bin file, and what lies beside it (megatron_index.h).
  Status add_megatron(const std::string& bin, const std::string& index);

  struct Range {
    std::uint64_t offset = 0;  // bytes
    std::uint64_t ids = 0;
  };
  /// Parts of a file of another format. kTruncated where one does not lie in it.
  /// @param documents  their first ids, counted in the file; ascending.
  Status add_ranges(const std::string& path, Dtype dtype, std::span<const Range> ranges,
                    std::span<const std::uint64_t> documents);
  /// Ids in memory that were read from a file.
  Status add_memory(const std::string& path, Dtype dtype, std::span<const std::uint8_t> bytes,
                    std::shared_ptr<const void> owner, std::span<const std::uint64_t> documents);
  /// kInvalidArgument where there are no ids.
  Result<std::shared_ptr<const TokenSet>> finish() &&;

 private:
  Result<std::uint64_t> add_file(const std::string& path);
  void add_run(Dtype dtype, std::uint64_t offset, std::uint64_t ids, const std::uint8_t* memory = nullptr);
  Status add_documents(const std::string& path, std::uint64_t first, std::span<const std::uint64_t> documents);

  std::shared_ptr<TokenSet> set_;
};

}  // namespace drapps::text
