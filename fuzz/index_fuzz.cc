// The reader of index files must hold for any bytes at all: no fault, no memory beyond the budget, only indexes that
// some picture can have. Each input is tried as it is, and again with checksums that fit, to get behind them.
#include <cstdlib>
#include <vector>

#include "drapps/decode/crc32.h"
#include "drapps/decode/jpeg/index_file.h"

namespace drapps::jpeg {
namespace {

constexpr std::uint64_t kRecords = 256;
constexpr std::size_t kBudget = 1 << 18;

void require(bool holds) {
  if (!holds) std::abort();
}

std::uint64_t number(std::span<const std::uint8_t> bytes, std::size_t at, std::size_t count) {
  std::uint64_t value = 0;
  for (std::size_t i = count; i-- > 0;) value = value << 8 | bytes[at + i];
  return value;
}

void put(std::span<std::uint8_t> bytes, std::size_t at, std::uint64_t value, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) bytes[at + i] = static_cast<std::uint8_t>(value >> 8 * i);
}

/// Corrects the size of the file, and all checksums as far as the records can be walked.
void repair(std::span<std::uint8_t> bytes) {
  if (bytes.size() < kIndexHeaderBytes) return;
  put(bytes, 24, bytes.size(), 8);
  put(bytes, 8, crc32(bytes.subspan(12, kIndexHeaderBytes - 12)), 4);
  for (auto rest = bytes.subspan(kIndexHeaderBytes); rest.size() >= kIndexRecordBytes;) {
    const std::uint64_t size = kIndexRecordBytes + number(rest, 4, 4) * sizeof(IndexEntry);
    if (size > rest.size()) return;
    put(rest, 0, crc32(rest.subspan(4, size - 4)), 4);
    rest = rest.subspan(size);
  }
}

void try_bytes(std::span<const std::uint8_t> bytes) {
  MemoryLedger ledger;
  {
    MemoryIndexStore store(ledger, kRecords, kBudget);
    const Result<std::uint64_t> records = parse_indexes(bytes, store);
    require(records.ok() || !records.error().message.empty());
    require(ledger.peak() <= kBudget && ledger.used() == store.bytes());
    IndexStatistics sum;
    IndexKey key;
    ScanIndex index;
    for (std::uint64_t i = 0; i < kRecords; ++i) {
      if (!store.copy(i, key, index)) continue;
      require(plausible(index.shape, index.entries.size()));
      for (std::size_t e = 1; e < index.entries.size(); ++e) {
        require(index.entries[e - 1].bit() <= index.entries[e].bit());
      }
      require(index.entries.back().bit() / 8 <= index.shape.file_bytes);
      require(store.get(key, index));
      ++sum.records;
      sum.entries += index.entries.size();
    }
    require(store.statistics().records == sum.records && store.statistics().entries == sum.entries);
    require(!records.ok() || sum.records <= *records);
  }
  require(ledger.used() == 0);
}

}  // namespace
}  // namespace drapps::jpeg

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  drapps::jpeg::try_bytes({data, size});
  std::vector<std::uint8_t> repaired(data, data + size);
  drapps::jpeg::repair(repaired);
  drapps::jpeg::try_bytes(repaired);
  return 0;
}
