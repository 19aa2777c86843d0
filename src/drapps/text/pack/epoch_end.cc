#include "drapps/text/pack/epoch_end.h"

#include <algorithm>

#include "drapps/text/pack/document_encoder.h"
#include "drapps/text/pack/parts.h"
#include "drapps/text/pack/split_blocks.h"

namespace drapps::text {
namespace {

constexpr std::size_t kAtOnce = 1024;  // documents

/// Of the documents of one block: their ids, or their rows.
Result<std::uint64_t> count_block(const CorpusAccess& access, const Tokenizer& tokenizer, const Packing& packing,
                                  std::uint32_t block) {
  const bool alone = packing.fit == Fit::kDocuments;
  DocumentEncoder encoder(access, tokenizer, alone ? unmarked(packing) : packing, block, {});
  std::uint64_t count = 0;
  std::vector<TokenId> ids;
  std::vector<EncodedDocument> documents;
  while (!encoder.ended()) {
    ids.clear();
    documents.clear();
    DRAPPS_RETURN_IF_ERROR(encoder.encode(kAtOnce, ids, documents));
    if (alone) {
      for (std::size_t i = 0; i < documents.size(); ++i) {
        const std::ptrdiff_t end = i + 1 < documents.size() ? documents[i + 1].at : std::ssize(ids);
        count += parts_of(packing, static_cast<std::size_t>(end - documents[i].at));
      }
    } else {
      count += ids.size();
    }
    for (Error& error : encoder.take_errors()) {
      if (error.code == ErrorCode::kIo || error.code == ErrorCode::kNotFound || error.code == ErrorCode::kPermission) {
        return std::move(error);
      }
    }
  }
  return count;
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
    auto count = count_block(access, tokenizer, each, block);
    if (!count.ok()) return std::move(count).error();
    counts.push_back(*count);
  }
  return counts;
}

std::uint64_t rows_of_epoch(const std::vector<std::uint64_t>& counts, const Packing& packing) {
  const std::uint64_t of_row = packing.fit == Fit::kDocuments ? 1 : packing.length;
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
