// Indexes on disk, from run to run.
//
// All numbers are little-endian and nothing is padded. The header, 32 bytes:
//
//   at 0   magic          8 bytes, "\x89DRIX\r\n\n"
//   at 8   checksum       u32, CRC-32 of the header from byte 12 on
//   at 12  version        u32, 1
//   at 16  records        u64, that follow
//   at 24  bytes          u64, of the whole file
//
// Behind it stand the records in ascending order, 64 bytes and 10 for each entry:
//
//   at 0   checksum       u32, CRC-32 of the record from byte 4 on
//   at 4   count          u32, of the entries; at least 1
//   at 8   record         u64, number in the source
//   at 16  identity       u64 size, i64 mtime_ns, u64 inode
//   at 40  shape          u32 mcus_across, mcus_down, group, headers; u64 file_bytes
//   at 64  entries        u16 bit_high, u16 bit_low, i16 dc[3]
//
// The file may be old, and anybody's: what is read from it are candidates. A store gives them out only for the very
// file they are of, and a decoder trusts no position in them.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "drapps/base/result.h"
#include "drapps/decode/jpeg/index_memory.h"

namespace drapps::jpeg {

inline constexpr std::size_t kIndexHeaderBytes = 32;
inline constexpr std::size_t kIndexRecordBytes = 64;

/// Writes all that `store` knows and returns the number of records. The file appears whole or not at all, in place of
/// an older index file. Other threads may use the store meanwhile; each record is then as it was at some moment.
///
/// Errors name the path: kInvalidArgument where something stands there that is not an index file, which is left alone;
/// kNotFound, kPermission, kResourceExhausted (no space) and kIo of the system. No temporary file stays behind.
Result<std::uint64_t> save_indexes(const std::string& path, const MemoryIndexStore& store);

/// Offers all records of the file to `store`, before it is used otherwise, and returns their number, whatever of it the
/// store had memory for. Holds one record in memory at a time.
///
/// Errors name the path and the byte: kUnsupported (no index file, or one of a newer version), kTruncated, kCorrupt;
/// kNotFound, kPermission and kIo of the system. Records before the byte were offered; they are good.
Result<std::uint64_t> load_indexes(const std::string& path, IndexStore& store);

/// The same on the bytes of such a file.
Result<std::uint64_t> parse_indexes(std::span<const std::uint8_t> bytes, IndexStore& store);

}  // namespace drapps::jpeg
