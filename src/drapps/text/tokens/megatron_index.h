// The index beside a file of token ids, as Megatron-LM writes it (megatron/core/datasets/indexed_dataset.py).
//
// All numbers are little-endian:
//
//   "MMIDIDX\0\0"        9 bytes
//   version              uint64, 1
//   dtype                uint8: 1 uint8, 2 int8, 3 int16, 4 int32, 5 int64, 6 float64, 7 float32, 8 uint16
//   sequences, ends      uint64 each: S and D
//   lengths              int32 of S, in ids
//   offsets              int64 of S, in bytes of the .bin file
//   documents            int64 of D: the sequence with which each document begins, ascending, and S at the end
//   modes                int8 of S, in files of several modalities alone
#pragma once

#include <cstdint>
#include <vector>

#include "drapps/base/result.h"
#include "drapps/data/dtype.h"
#include "drapps/storage/file_window.h"

namespace drapps::text {

struct MegatronIndex {
  Dtype dtype = Dtype::kInt32;           // an integer one
  std::uint64_t ids = 0;                 // of all sequences
  std::vector<std::uint64_t> documents;  // the first id of each document that has any, ascending
};

/// Reads all of it. Sequences that do not follow one another in the .bin file are refused, as rows go on from one to
/// the next. kUnsupported, kTruncated or kCorrupt say at which byte; none names the file.
/// @param documents  whether to list them; each takes 8 bytes.
Result<MegatronIndex> read_megatron_index(FileWindow& file, bool documents);

}  // namespace drapps::text
