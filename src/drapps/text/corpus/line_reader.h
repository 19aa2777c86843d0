// Documents of files that the core reads: lines, JSON lines, whole files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "drapps/base/error.h"
#include "drapps/base/result.h"
#include "drapps/text/corpus/content_reader.h"
#include "drapps/text/corpus/document_reader.h"

namespace drapps::text {

class JsonField;  // json_field.h

/// A piece ends with the last line feed before each ContentReader::kPiece bytes of the block's content, and has as much
/// more as its last line needs.
class LineReader final : public DocumentReader {
 public:
  LineReader(const CorpusAccess& access, const Block& block);
  ~LineReader() override;
  Result<bool> next(DocumentChunk& documents) override;
  Result<bool> prepare() override;
  bool ended() const noexcept override { return ended_ && !whole_; }

 private:
  using At = ContentReader::At;

  Status work();
  Status read_whole();
  Status read_lines();
  Status fill();
  void give(DocumentChunk& documents);
  void passed(std::size_t bytes) noexcept;
  void take_lines();
  void take_line(std::size_t end, bool valid);
  void end_piece();
  void end_block() noexcept { ended_ = whole_ = true; }
  void add_line(std::string_view line, bool valid);
  void add_text(std::string_view text);
  void fail(Error error);
  /// In the block's content: where lines are done, and up to where it was read.
  std::uint64_t place() const noexcept { return content_at_ + done_; }
  std::uint64_t read() const noexcept { return content_at_ + content_.size(); }
  bool plain() const noexcept { return corpus_.file(block_).compression == Compression::kNone; }

  const Corpus& corpus_;
  const Block block_;
  ContentReader reader_;
  std::unique_ptr<JsonField> json_;  // of JSON lines
  // What was read of the piece, and of the line behind it. Texts are written over lines that are done, so that what was
  // done stays done where memory ends.
  std::string content_;
  std::uint64_t content_at_ = 0;  // where it begins in the block's content
  std::size_t texts_ = 0;         // bytes of texts at its beginning
  std::size_t done_ = 0;          // of it: lines that were taken, or skipped
  std::size_t searched_ = 0;      // of it: up to where the line that comes next has no line feed
  std::size_t block_end_ = 0;     // where the block ends in it, once `closing_`
  std::uint64_t mark_;            // of the block's content: where the piece may end next
  std::uint64_t piece_at_ = 0;    // of the block's content: where the piece begins
  DocumentChunk piece_;           // that is being made
  bool whole_ = false;            // it is finished, and was not given
  At at_ = At::kWithin;
  bool closing_ = false;
  bool skips_;  // to the next line feed, since what stands before it is no document of the block
  bool ended_ = false;
};

}  // namespace drapps::text
