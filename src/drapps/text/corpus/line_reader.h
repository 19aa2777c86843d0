// Documents of files that the core reads: lines, JSON lines, whole files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "drapps/base/error.h"
#include "drapps/base/result.h"
#include "drapps/text/corpus/content_reader.h"
#include "drapps/text/corpus/document_reader.h"

namespace drapps::text {

class JsonField;  // json_field.h

/// A piece has at most ContentReader::kPiece of the file's content, and as much more as its last line needs.
class LineReader final : public DocumentReader {
 public:
  LineReader(const CorpusAccess& access, const Block& block);
  ~LineReader() override;
  Result<bool> next(DocumentChunk& documents) override;
  bool ended() const noexcept override { return ended_; }

 private:
  using At = ContentReader::At;

  Status read_whole(DocumentChunk& documents);
  Status read_lines(DocumentChunk& documents);
  Status fill();
  Status find_lines();
  std::size_t lines() noexcept;
  void passed(std::size_t bytes) noexcept;
  bool skip_line();
  void take_lines();
  void give(DocumentChunk& documents);
  void add_line(std::string_view line, bool valid, std::uint64_t at, DocumentChunk& documents);
  void fail(Error error, std::uint64_t at, DocumentChunk& documents) const;
  bool plain() const noexcept { return corpus_.file(block_).compression == Compression::kNone; }

  const Corpus& corpus_;
  const Block block_;
  ContentReader reader_;
  std::unique_ptr<JsonField> json_;  // of JSON lines
  std::string content_;              // what was read and not given
  std::uint64_t content_at_ = 0;     // where it begins in the block's content
  std::size_t lines_ = 0;            // up to where content_ has whole lines, as far as it was searched
  std::size_t searched_ = 0;         // up to where line feeds have been looked for
  std::size_t block_end_ = 0;        // where the block ends in it, once `closing_`
  // The lines that become a piece. What was done of them stays done where memory ends: texts of JSON lines are written
  // over lines that are done.
  std::optional<std::size_t> taken_;  // their bytes
  std::size_t done_ = 0;              // of these
  std::size_t texts_ = 0;             // bytes of texts at the beginning of content_
  bool too_long_ = false;             // the line behind them
  DocumentChunk piece_;               // without its text
  At at_ = At::kWithin;
  bool closing_ = false;
  bool skips_;  // to the next line feed, since what stands before it is no document of the block
  bool ended_ = false;
};

}  // namespace drapps::text
