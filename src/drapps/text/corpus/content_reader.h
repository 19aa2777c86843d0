// The content of a file from the beginning of a block on, decompressed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "drapps/base/memory_ledger.h"
#include "drapps/base/result.h"
#include "drapps/data/buffer.h"
#include "drapps/text/corpus/corpus.h"

namespace drapps::text {

/// One thread.
class ContentReader {
 public:
  enum class At : std::uint8_t {
    kWithin,    // the block goes on
    kBlockEnd,  // all of the block has been read; what follows is the next one's
    kFileEnd,   // all of the file has been read
    kBeyond,    // within the blocks behind
  };

  ContentReader(const CorpusAccess& access, const Block& block);
  ~ContentReader();

  /// Appends some more of the content, at most `most` bytes and never across the block's end. Errors have an offset in
  /// the file, and no path; after kResourceExhausted another call goes on.
  Result<At> read(std::string& into, std::size_t most = kPiece);
  /// How many bytes of content come before the block ends, or of what is compressed together; UINT64_MAX where that is
  /// not known.
  std::uint64_t left() const noexcept;

  /// Announces what a reader of the block reads from a place of the file on, about as much as a piece has.
  static void prefetch(const CorpusAccess& access, const Block& block, std::uint64_t at);

  static constexpr std::size_t kPiece = std::size_t{2} << 20;  // most blocks are read in one piece

 private:
  class Decompressor;
  class ZstdContent;
  class GzipContent;

  Status fetch();
  Status copy(std::string& into, std::size_t most);
  Status decompress(std::string& into, std::size_t most);
  Error at_input(ErrorCode code, std::string message) const;

  const CorpusAccess access_;
  const Block block_;
  const Corpus::File& file_;
  const std::uint64_t end_;  // of the block, in the file
  Buffer input_;             // as it lies in the storage, up to some place before or at end_ or behind it
  std::size_t input_size_ = 0;
  std::size_t used_ = 0;                   // of the input
  std::uint64_t next_;                     // offset of what has not been fetched
  bool whole_ = true;                      // what is compressed together has ended
  std::uint64_t frame_left_ = UINT64_MAX;  // bytes of content of what is compressed together; UINT64_MAX: not known
  bool hungry_ = true;                     // there is nothing to come of the input that is used
  bool behind_ = false;
  std::unique_ptr<Decompressor> decompressor_;  // null for plain files
};

}  // namespace drapps::text
