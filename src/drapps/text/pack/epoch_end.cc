#include "drapps/text/pack/epoch_end.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "drapps/text/corpus/document_index.h"
#include "drapps/text/pack/document_encoder.h"
#include "drapps/text/pack/packer.h"
#include "drapps/text/pack/parts.h"
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

/// How many ids the documents of one block have.
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

/// How many rows the documents of one block make.
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

/// How many ids each document of a file has, or how many rows it makes, where documents have numbers.
Result<std::vector<std::uint64_t>> count_documents(const CorpusAccess& access, const Tokenizer& tokenizer,
                                                   const Packing& packing, std::uint32_t file) {
  const bool rows = packing.fit != Fit::kConcatenate;
  Packing whole = rows ? unmarked(packing) : packing;
  whole.splits = 1;
  whole.shuffle = false;
  whole.ends = true;
  const DocumentIndex& index = *access.corpus.index();
  const std::uint64_t first = index.first_of(file);
  std::vector<std::uint64_t> counts(index.first_of(file + 1) - first);
  DocumentEncoder encoder(access, tokenizer, whole, 0, {.place = static_cast<std::uint32_t>(first)});
  std::vector<TokenId> ids;
  std::vector<EncodedDocument> documents;
  bool within = !counts.empty();
  while (within && !encoder.ended()) {
    ids.clear();
    documents.clear();
    DRAPPS_RETURN_IF_ERROR(encoder.encode(kAtOnce, ids, documents));
    for (std::size_t i = 0; i < documents.size() && within; ++i) {
      const auto& [at, cursor, origin] = documents[i];
      const std::size_t end = i + 1 < documents.size() ? static_cast<std::size_t>(documents[i + 1].at) : ids.size();
      const std::size_t size = end - static_cast<std::size_t>(at);
      within = origin.file == file;
      if (within) counts[index.number_of(file, origin.at) - first] = rows ? parts_of(packing, size) : size;
    }
    DRAPPS_RETURN_IF_ERROR(passed_over(encoder.take_errors()));
  }
  return counts;
}

}  // namespace

Result<std::vector<std::uint64_t>> count_blocks(const CorpusAccess& access, const Tokenizer& tokenizer,
                                                const Packing& packing, std::uint32_t file) {
  if (access.corpus.index() != nullptr) return count_documents(access, tokenizer, packing, file);
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

std::uint64_t rows_of_epoch(std::span<const std::uint64_t> counts, const Packing& packing) {
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
