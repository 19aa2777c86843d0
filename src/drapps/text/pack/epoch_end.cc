#include "drapps/text/pack/epoch_end.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "drapps/text/pack/document_encoder.h"
#include "drapps/text/pack/packer.h"
#include "drapps/text/pack/split_blocks.h"

namespace drapps::text {
namespace {

constexpr std::size_t kAtOnce = 1024;  // documents

/// The first of these errors that is not about a document.
Status passed_over(std::vector<Error> errors) {
  for (Error& error : errors) {
    if (error.code == ErrorCode::kIo || error.code == ErrorCode::kNotFound || error.code == ErrorCode::kPermission) {
      return std::move(error);
    }
  }
  return ok_status();
}

/// Of the documents of one block: their ids.
Result<std::uint64_t> count_ids(const CorpusAccess& access, const Tokenizer& tokenizer, const Packing& packing,
                                std::uint32_t block) {
  DocumentEncoder encoder(access, tokenizer, packing, block, {});
  std::uint64_t count = 0;
  std::vector<TokenId> ids;
  std::vector<EncodedDocument> documents;
  while (!encoder.ended()) {
    ids.clear();
    documents.clear();
    DRAPPS_RETURN_IF_ERROR(encoder.encode(kAtOnce, ids, documents));
    count += ids.size();
    DRAPPS_RETURN_IF_ERROR(passed_over(encoder.take_errors()));
  }
  return count;
}

/// Of the documents of one block: their rows.
Result<std::uint64_t> count_rows(const CorpusAccess& access, const Tokenizer& tokenizer, const Packing& packing,
                                 std::uint32_t block) {
  const std::unique_ptr<Packer> packer = make_packer(access, tokenizer, packing, block, {});
  PackedRow row;
  for (std::uint64_t count = 0;; ++count) {
    DRAPPS_RETURN_IF_ERROR(packer->next(row));
    DRAPPS_RETURN_IF_ERROR(passed_over(packer->take_errors()));
    if (row.used == 0) return count;
  }
}

}  // namespace

Result<std::vector<std::uint64_t>> count_blocks(const CorpusAccess& access, const Tokenizer& tokenizer,
                                                const Packing& packing, std::uint32_t file) {
  const std::vector<Block>& blocks = access.corpus.blocks();
  Packing each = packing;  // where each block is a split of its own
  each.splits = static_cast<std::uint32_t>(blocks.size());
  each.shuffle = false;
  each.ends = true;
  std::vector<std::uint64_t> counts;
  for (std::uint32_t block = 0; block < blocks.size(); ++block) {
    if (blocks[block].file != file) continue;
    auto count = packing.fit == Fit::kConcatenate ? count_ids(access, tokenizer, each, block)
                                                  : count_rows(access, tokenizer, each, block);
    if (!count.ok()) return std::move(count).error();
    counts.push_back(*count);
  }
  return counts;
}

std::uint64_t rows_of_epoch(const std::vector<std::uint64_t>& counts, const Packing& packing) {
  const std::uint64_t of_row = packing.fit == Fit::kConcatenate ? packing.length : 1;
  std::uint64_t most = 1;
  for (std::uint32_t split = 0; split < packing.splits; ++split) {
    const SplitBlocks blocks(counts.size(), packing, split, 0);
    std::uint64_t sum = 0;
    for (std::uint32_t place = 0; place < blocks.size(); ++place) sum += counts[blocks.at(place)];
    most = std::max(most, (sum + of_row - 1) / of_row);
  }
  return most * packing.splits;
}

}  // namespace drapps::text
