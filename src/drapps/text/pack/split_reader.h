// The documents of one split, window by window.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "drapps/base/memory_ledger.h"
#include "drapps/base/result.h"
#include "drapps/text/corpus/document_index.h"
#include "drapps/text/corpus/document_reader.h"
#include "drapps/text/pack/packing.h"
#include "drapps/text/pack/split_blocks.h"

namespace drapps::text {

/// One thread at a time. While documents of one window come, the next one is read, a part of a piece now and then, so
/// that no row waits for all of it: but where memory is short.
class SplitReader {
 public:
  /// @param at  the window to begin at, and the document in it.
  SplitReader(const CorpusAccess& access, const Packing& packing, std::uint32_t split, const PackCursor& at);
  ~SplitReader();

  /// Makes sure that a document comes next, or that the split has ended(), opening windows as needed.
  /// kResourceExhausted where there is no memory, and another call goes on; kNoGoodData where the split has no good
  /// document in a whole epoch.
  Status ready();
  /// Whether nothing is to come, as the epoch's last document has been passed and epochs end.
  bool ended() const noexcept;
  /// How many documents of the window are left, from the one that comes next on. Requires ready().
  std::size_t left() const noexcept { return window_.order.size() - next_; }
  /// The text of the document `ahead` of the next, or its error. Valid until ready() opens another window.
  std::string_view text(std::size_t ahead) const noexcept;
  const Error* error(std::size_t ahead) const noexcept;
  /// The file that the document `ahead` of the next is from.
  const std::string& path(std::size_t ahead) const noexcept { return access_.corpus.path(one(ahead).file); }
  /// Where the document `ahead` of the next is in its file.
  DocumentPlace origin(std::size_t ahead) const noexcept {
    return {.file = one(ahead).file, .block = chunk(ahead).block, .at = one(ahead).at};
  }
  /// Where the document `ahead` of the next stands in the split; `token` and `row` are zero. Behind the last document
  /// of an epoch that is the beginning of the next epoch, but where epochs end.
  PackCursor place(std::size_t ahead) const noexcept;
  void advance(std::size_t documents) noexcept { next_ += documents; }

 private:
  struct ChunkDocument {
    std::uint32_t chunk;
    std::uint32_t document;
  };
  struct DocumentWindow {
    PackCursor begin;
    std::size_t charged = 0;  // bytes, of the ledger
    std::vector<DocumentChunk> chunks;
    std::vector<ChunkDocument> order;  // once it is whole
  };

  const DocumentChunk& chunk(std::size_t ahead) const noexcept {
    return window_.chunks[window_.order[next_ + ahead].chunk];
  }
  const DocumentChunk::DocumentText& one(std::size_t ahead) const noexcept {
    return chunk(ahead).each[window_.order[next_ + ahead].document];
  }
  const Block& block(std::uint32_t place) const noexcept;
  std::size_t pieces_of(const DocumentWindow& window) const noexcept;
  bool whole(const DocumentWindow& window) const noexcept;
  bool memory_abounds() const noexcept;
  PackCursor next_window() const noexcept;
  DocumentWindow begin_window();
  Status read_window();
  Status read_ahead();
  bool due() const noexcept;
  Result<bool> prepare_piece();
  Status reserve_piece();
  void book_piece(DocumentWindow& window, std::size_t bytes) noexcept;
  Status read_piece(DocumentWindow& window);
  void open_block();
  Result<bool> next_piece(DocumentChunk& piece);
  Result<bool> read_numbered(DocumentChunk& piece);
  void prefetch_blocks(std::uint32_t behind);
  void prefetch_numbered(std::uint32_t from);
  void begin_epoch(std::uint32_t epoch);
  void put_in_order();

  const CorpusAccess access_;
  const Packing packing_;
  const std::uint32_t split_;

  SplitBlocks blocks_;                                 // of next_epoch_
  std::unique_ptr<DocumentReader> reader_;             // of the block in hand
  const std::unique_ptr<NumberedDocuments> numbered_;  // or null: documents come by blocks
  DocumentWindow window_;                              // that documents come from
  std::optional<DocumentWindow> ahead_;                // the window behind window_, once that has begun
  std::uint32_t next_epoch_;                           // where the next piece is read from
  std::uint32_t next_place_;
  std::uint32_t next_piece_;
  bool reserved_ = false;         // the memory of a piece
  std::uint32_t prepared_ = 0;    // parts of the next piece that were read ahead
  std::uint32_t announced_ = 0;   // documents with numbers, up to this place
  std::uint32_t skip_ = 0;        // pieces of the block in hand that are not wanted
  std::uint32_t skip_documents_;  // of the first window
  bool filling_ = false;          // window_ is not whole yet
  std::size_t next_ = 0;
  std::uint32_t epochs_without_ = 0;
};

}  // namespace drapps::text
