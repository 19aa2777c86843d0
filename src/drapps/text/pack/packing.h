// How documents become rows: which come when, and what stands between them.
//
// The blocks of a corpus are dealt to S splits: the block at place p of an epoch's order to split p mod S. A split
// reads its blocks by windows, and the documents of a window in an order of their own. Their ids, one document behind
// the other with what marks its beginning and end, are the split's stream, which is cut into rows of equal length.
// Behind the last document of an epoch stands the first one of the next, where epochs do not end. Row q of all is row q
// div S of split q mod S.
//
// Which ids a row has depends on the corpus, the tokenizer and the numbers below, and on nothing else.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "drapps/text/bpe/pair_table.h"
#include "drapps/text/corpus/corpus.h"

namespace drapps::text {

/// Documents may be held out for validation: those whose hash is small. The same text is always on the same side.
enum class Take : std::uint8_t {
  kAll,
  kTraining,  // but those that are held out
  kHeldOut,
};

/// How documents are put into rows.
enum class Fit : std::uint8_t {
  kConcatenate,  // one behind the other, cut where a row ends
  kBestFit,      // whole, or cut where one is longer than a row; what is left of a row is padding
  kDocuments,    // each by itself, or in parts where it is longer than a row; rows differ in length
  kBudget,       // as kDocuments, and a row is a batch of them that a budget of ids bounds
};

/// How wide a matrix is that rows of different lengths are padded to.
struct Widths {
  std::uint32_t multiple = 1;          // the width is a multiple of this
  std::vector<std::uint32_t> lengths;  // or the least of these that is enough; they ascend

  /// The width where the longest row has so many ids: at most the last of the lengths, where there are any.
  std::uint32_t of(std::uint32_t longest) const noexcept {
    const auto width = std::lower_bound(lengths.begin(), lengths.end(), longest);
    if (width != lengths.end()) return *width;
    return std::max(1u, (longest + multiple - 1) / multiple) * multiple;
  }
  bool operator==(const Widths&) const = default;
};

struct Packing {
  Fit fit = Fit::kConcatenate;
  TokenId pad = 0;              // what padding is made of
  std::uint32_t length = 0;     // ids of a row, or the most of them
  std::uint32_t lookahead = 0;  // of the next row, which a row is given too
  std::uint32_t splits = 1;     // S, at most as many as there are blocks
  std::uint32_t window = 4;     // pieces whose documents are in one order
  std::optional<TokenId> bos;   // before each document
  std::optional<TokenId> eos;   // behind each document
  bool shuffle = false;         // blocks, and documents within their window
  std::uint64_t seed = 0;
  Take take = Take::kAll;
  double held_out = 0;        // the share of documents that are
  std::uint32_t overlap = 0;  // ids that neighbouring parts of a document share, where documents are by themselves
  bool truncate = false;      // and of a longer document only the first part is a row
  std::uint64_t budget = 0;   // ids of a batch with its padding
  Widths widths;              // of a batch
  bool ends = false;          // with the epoch: what is left of a split's last row, and rows behind it, are padding

  bool operator==(const Packing&) const = default;
};

/// Worlds of up to 96 ranks that divide it read no block twice.
inline constexpr std::uint32_t kMostSplits = 96;

/// The largest divisor of kMostSplits that leaves each split two blocks, or one.
constexpr std::uint32_t default_splits(std::uint64_t blocks) noexcept {
  for (std::uint32_t splits = kMostSplits; splits > 1; --splits) {
    if (kMostSplits % splits == 0 && splits * std::uint64_t{2} <= blocks) return splits;
  }
  return 1;
}

/// Where a row begins in the stream of its split; plain, and part of saved states.
struct PackCursor {
  std::uint64_t row = 0;  // of the split
  std::uint32_t epoch = 0;
  std::uint32_t place = 0;     // of the window's first block among the split's
  std::uint32_t piece = 0;     // of the window's first block
  std::uint32_t document = 0;  // in the window's order
  std::uint64_t token = 0;     // of the document, with what marks its beginning; else the row among the document's or
                               // the block's

  bool operator==(const PackCursor&) const = default;
};
static_assert(sizeof(PackCursor) == 32);

}  // namespace drapps::text
