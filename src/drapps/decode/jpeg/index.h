// Where decoding of a scan can begin: what one pass over a JPEG learns for all later ones.
//
//   const IndexUse use{.store = store, .key = {record, identity}};
//   auto view = decoder.decode(bytes, *info, region, options, out, &use);  // uses the index, and adds to it
//
// An entry stands before the first MCU of a group: a whole row of MCUs, or 8 of one row. Entries are in the order of
// the scan and always a prefix of it, as long as decoding has come so far; the first of all, at the begin of the scan,
// is kept too. With them a crop decodes from the nearest entry instead of from the top.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "drapps/source/learned.h"
#include "drapps/storage/file_identity.h"

namespace drapps::jpeg {

struct IndexEntry {
  std::uint16_t bit_high = 0, bit_low = 0;  // of the scan without stuffing and markers; behind a restart marker
  std::int16_t dc[3]{};                     // predictors by component; 0 where the picture has fewer

  std::uint32_t bit() const noexcept { return static_cast<std::uint32_t>(bit_high) << 16 | bit_low; }
  bool operator==(const IndexEntry&) const = default;
};
static_assert(sizeof(IndexEntry) == 10);

/// Which picture the entries are of. They are used only where this is equal for the bytes at hand.
struct IndexShape {
  std::uint32_t mcus_across = 0;
  std::uint32_t mcus_down = 0;
  std::uint32_t group = 0;    // MCUs per entry: 8, or mcus_across
  std::uint32_t headers = 0;  // CRC-32 of the last 1,024 bytes before the entropy-coded data
  std::uint64_t file_bytes = 0;
  bool operator==(const IndexShape&) const = default;

  std::uint32_t groups_across() const noexcept { return (mcus_across + group - 1) / group; }
  /// Entries of a complete index.
  std::size_t entries() const noexcept { return std::size_t{groups_across()} * mcus_down; }
};

struct ScanIndex {
  IndexShape shape;
  std::vector<IndexEntry> entries;  // at most shape.entries()
};

/// Which file: a record of a source, and what makes it the same file as before.
struct IndexKey {
  std::uint64_t record = 0;
  FileIdentity identity;
};

/// Keeps indexes from epoch to epoch. All members may be called from any thread, for different records at once.
class IndexStore : public LearnedStore {
 public:
  /// MCUs per entry for a picture of that many: 8 where memory allows it for every record, else mcus_across.
  virtual std::uint32_t group(std::uint32_t mcus_across, std::uint32_t mcus_down) const noexcept = 0;

  /// Copies what is known of the record to `index`, whose memory is reused. False, and `index` without entries, where
  /// nothing is known; a record that is another file now is forgotten.
  virtual bool get(const IndexKey& key, ScanIndex& index) = 0;

  /// Keeps a copy of `entries` where they say more than what is known, and where memory allows.
  virtual void offer(const IndexKey& key, const IndexShape& shape, std::span<const IndexEntry> entries) = 0;
};

/// What one decode is to remember and where.
struct IndexUse {
  IndexStore* store = nullptr;
  IndexKey key;
  Learned* known = nullptr;  // told what there was when decoding began, or null
};

}  // namespace drapps::jpeg
