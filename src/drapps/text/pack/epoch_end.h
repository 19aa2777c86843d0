// Where an epoch of text ends, which is known once its documents have been counted: in ids where they stand one behind
// the other, else in rows.
//
// All epochs that end (Packing::ends) have the same number of rows, as a split has the same blocks in each: S times as
// many as the longest split has.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "drapps/base/result.h"
#include "drapps/text/pack/packing.h"
#include "drapps/text/tokenizer.h"

namespace drapps::text {

/// The ids of the good documents of each block of a file, with what marks their beginnings and ends; where they
/// do not stand one behind the other, the rows that they make. kIo and the like where a file cannot be read,
/// kResourceExhausted where there is no memory.
/// Where documents have numbers, the counts are of each document of the file, not of each block; for Fit::kConcatenate
/// and Fit::kDocuments only.
/// @param packing  of which only what decides about documents, their ids and what is made of them counts.
Result<std::vector<std::uint64_t>> count_blocks(const CorpusAccess& access, const Tokenizer& tokenizer,
                                                const Packing& packing, std::uint32_t file);

/// Rows of an epoch whose blocks, or documents by number, have so many ids or rows each; no fewer than one for each
/// split.
std::uint64_t rows_of_epoch(std::span<const std::uint64_t> counts, const Packing& packing);

}  // namespace drapps::text
