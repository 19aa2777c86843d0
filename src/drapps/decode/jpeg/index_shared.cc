#include "drapps/decode/jpeg/index_shared.h"

#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

#define XXH_INLINE_ALL  // NOLINT(readability-identifier-naming): the name is the library's
#include <xxhash.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <limits>
#include <new>
#include <string>
#include <utility>

#include "drapps/decode/jpeg/index_memory.h"

namespace drapps::jpeg {
namespace {

using Counter = std::atomic<std::uint64_t>;
using Half = std::atomic_ref<std::uint16_t>;

constexpr std::uint64_t kTableMagic = 0x3130'7864'6961'7264;    // "draidx01"
constexpr std::uint64_t kLeastTable = std::uint64_t{64} << 10;  // with room for the least slots
constexpr int kOffsetBits = 40;                                 // of a slot; the rest are bits of the hash
constexpr std::uint64_t kOffsetMask = (std::uint64_t{1} << kOffsetBits) - 1;
constexpr std::uint64_t kMostTable = std::uint64_t{1} << kOffsetBits;
constexpr std::uint64_t kBytesPerSlot = 1024;  // of the budget, where the number of pictures is not known
constexpr std::uint64_t kLeastSlots = 64;
constexpr std::uint64_t kSlotsOffset = kPageBytes;
constexpr std::uint64_t kProbes = 32;
constexpr std::uint64_t kUsualShare = 8192;  // of a picture, where their number is not known
constexpr std::uint64_t kRecordAlignment = 8;
constexpr std::size_t kHalves = sizeof(IndexEntry) / sizeof(std::uint16_t);
static_assert(sizeof(IndexEntry) == kHalves * sizeof(std::uint16_t));
static_assert(Counter::is_always_lock_free && Half::is_always_lock_free);

/// How many entries of a record are there, and their checksum.
struct KnownEntries {
  static constexpr std::uint32_t kDamaged = std::numeric_limits<std::uint32_t>::max();

  std::uint32_t count = 0;
  std::uint32_t sum = 0;

  static KnownEntries of(std::uint64_t word) noexcept {
    return {.count = static_cast<std::uint32_t>(word >> 32), .sum = static_cast<std::uint32_t>(word)};
  }
  std::uint64_t word() const noexcept { return std::uint64_t{count} << 32 | sum; }
};

std::uint32_t sum_of(const IndexKey& key, const IndexShape& shape, std::span<const IndexEntry> entries) noexcept {
  const std::uint64_t whose = XXH3_64bits_withSeed(&shape, sizeof shape, key.record ^ key.identity.inode);
  return static_cast<std::uint32_t>(XXH3_64bits_withSeed(entries.data(), entries.size_bytes(), whose) >> 32);
}

void add(Counter& counter, std::uint64_t count = 1) noexcept { counter.fetch_add(count, std::memory_order_relaxed); }

}  // namespace

struct SharedIndexStore::IndexHeader {
  IndexGeometry geometry;
  alignas(64) Counter end;  // offset from which on there is no record
  Counter backed;           // 1: the slots have pages, as they do from the first record on
  alignas(64) Counter records;
  Counter complete, entries, complete_entries, hits, misses, refused, damaged;
};

struct SharedIndexStore::IndexRecord {
  std::uint64_t low, high;  // of the hash
  IndexShape shape;
  Counter known;  // a KnownEntries

  // Behind the record there is room for all entries of its shape. Those that `known` counts never change.
  std::uint16_t* halves() noexcept { return reinterpret_cast<std::uint16_t*>(this + 1); }

  static std::uint64_t bytes_for(std::uint64_t entries) noexcept {
    return round_up(sizeof(IndexRecord) + entries * sizeof(IndexEntry), kRecordAlignment);
  }
  void write(std::span<const IndexEntry> entries, std::size_t first) noexcept {
    std::uint16_t* const to = halves();
    for (std::size_t i = first; i < entries.size(); ++i) {
      const auto from = std::bit_cast<std::array<std::uint16_t, kHalves>>(entries[i]);
      for (std::size_t k = 0; k < kHalves; ++k) Half(to[i * kHalves + k]).store(from[k], std::memory_order_relaxed);
    }
  }
  void read(std::span<IndexEntry> entries) noexcept {
    std::uint16_t* const from = halves();
    std::array<std::uint16_t, kHalves> one;
    for (std::size_t i = 0; i < entries.size(); ++i) {
      for (std::size_t k = 0; k < kHalves; ++k) one[k] = Half(from[i * kHalves + k]).load(std::memory_order_relaxed);
      entries[i] = std::bit_cast<IndexEntry>(one);
    }
  }
};

/// A record; or where one would be put, if there is a place for it.
struct SharedIndexStore::RecordPlace {
  IndexRecord* record = nullptr;
  std::uint64_t probe = kProbes;
};

SharedIndexStore::SharedIndexStore(SharedFile file, Mapping mapping, const IndexGeometry& geometry)
    : file_(std::move(file)), mapping_(std::move(mapping)), geometry_(geometry) {}

SharedIndexStore::IndexGeometry SharedIndexStore::plan_of(std::uint64_t budget, std::uint64_t pictures) noexcept {
  IndexGeometry plan{.magic = kTableMagic, .pictures = pictures};
  plan.file_bytes = budget / kPageBytes * kPageBytes;
  const std::uint64_t most = plan.file_bytes / 16 / sizeof(std::uint64_t);
  const std::uint64_t wanted = pictures == 0 ? plan.file_bytes / kBytesPerSlot : 2 * std::min(pictures, most);
  plan.slots = std::bit_floor(std::clamp(wanted, kLeastSlots, most));
  plan.records_offset = kSlotsOffset + round_up(plan.slots * sizeof(std::uint64_t), kPageBytes);
  return plan;
}

Result<std::shared_ptr<SharedIndexStore>> SharedIndexStore::open(SharedFile file, const IndexGeometry& geometry) {
  auto mapping = file.map(0, geometry.file_bytes);
  if (!mapping.ok()) return std::move(mapping).error();
  madvise(mapping->data(), geometry.file_bytes, MADV_DONTDUMP);
  return std::shared_ptr<SharedIndexStore>(new SharedIndexStore(std::move(file), *std::move(mapping), geometry));
}

Result<std::shared_ptr<SharedIndexStore>> SharedIndexStore::make(std::uint64_t budget, std::uint64_t pictures) {
  static_assert(sizeof(IndexHeader) <= kSlotsOffset);
  if (budget < kLeastTable || budget >= kMostTable) {
    return invalid("a table of indexes has a budget of " + std::to_string(kLeastTable) + " to " +
                   std::to_string(kMostTable - 1) + " bytes, not " + std::to_string(budget));
  }
  IndexGeometry planned = plan_of(budget, pictures);
  if (getrandom(&planned.seed, sizeof planned.seed, 0) != sizeof planned.seed) {
    return Error{.code = ErrorCode::kIo, .message = "the system gives no random bytes, which files are hashed with"};
  }
  auto file = SharedFile::make("drapps-indexes");
  if (!file.ok()) return std::move(file).error();
  DRAPPS_RETURN_IF_ERROR(file->grow(planned.file_bytes));
  if (!file->back(0, kSlotsOffset)) {
    return Error{.code = ErrorCode::kResourceExhausted,
                 .message = "the system has no memory for a table of indexes; free some"};
  }
  auto store = open(*std::move(file), planned);
  if (store.ok()) {
    (*store)->header().geometry = planned;
    (*store)->header().end = planned.records_offset;
  }
  return store;
}

Result<std::shared_ptr<SharedIndexStore>> SharedIndexStore::attach(int fd) {
  auto file = SharedFile::attach(fd);
  if (!file.ok()) return std::move(file).error();
  IndexGeometry layout;
  const bool read = pread(file->fd(), &layout, sizeof layout, 0) == static_cast<ssize_t>(sizeof layout);
  const IndexGeometry plan = plan_of(layout.file_bytes, layout.pictures);
  if (!read || layout.magic != plan.magic || layout.file_bytes < kLeastTable || layout.file_bytes >= kMostTable ||
      layout.slots != plan.slots || layout.records_offset != plan.records_offset || file->bytes() != plan.file_bytes) {
    return invalid("file descriptor " + std::to_string(fd) + " is no table of indexes; hand over that of the store");
  }
  return open(*std::move(file), layout);
}

SharedIndexStore::IndexHeader& SharedIndexStore::header() const noexcept {
  return *reinterpret_cast<IndexHeader*>(mapping_.data());
}

IndexKey SharedIndexStore::key_of(std::span<const std::uint8_t> file) const noexcept {
  const XXH128_hash_t hash = XXH3_128bits_withSeed(file.data(), file.size(), geometry_.seed);
  return {.record = hash.low64, .identity = {.size = file.size(), .mtime_ns = 0, .inode = hash.high64}};
}

std::uint32_t SharedIndexStore::group(std::uint32_t mcus_across, std::uint32_t mcus_down) const noexcept {
  const IndexShape fine{.mcus_across = mcus_across, .mcus_down = mcus_down, .group = 8};
  const std::uint64_t room = geometry_.file_bytes - geometry_.records_offset;
  const std::uint64_t share = geometry_.pictures == 0 ? kUsualShare : room / geometry_.pictures;
  return plausible(fine, 1) && IndexRecord::bytes_for(fine.entries()) <= share ? 8 : mcus_across;
}

bool SharedIndexStore::has_room(const IndexRecord& record, std::uint64_t entries) const noexcept {
  const auto offset = static_cast<std::uint64_t>(reinterpret_cast<const std::byte*>(&record) - mapping_.data());
  return entries <= (geometry_.file_bytes - offset - sizeof(IndexRecord)) / sizeof(IndexEntry);
}

/// The record that a slot's word refers to, if it is the picture's.
SharedIndexStore::IndexRecord* SharedIndexStore::record_at(std::uint64_t word, const IndexKey& key) const noexcept {
  const std::uint64_t offset = word & kOffsetMask;
  if (word >> kOffsetBits != key.identity.inode >> kOffsetBits || offset % kRecordAlignment != 0 ||
      offset < geometry_.records_offset || offset > geometry_.file_bytes - sizeof(IndexRecord)) {
    return nullptr;
  }
  auto* const record = reinterpret_cast<IndexRecord*>(mapping_.data() + offset);
  const bool same =
      record->low == key.record && record->high == key.identity.inode && record->shape.file_bytes == key.identity.size;
  return same ? record : nullptr;
}

SharedIndexStore::RecordPlace SharedIndexStore::find(const IndexKey& key) const noexcept {
  if (header().backed.load(std::memory_order_acquire) == 0) return {.probe = 0};
  const auto* const slots = reinterpret_cast<const Counter*>(mapping_.data() + kSlotsOffset);
  for (std::uint64_t probe = 0; probe < kProbes; ++probe) {
    const std::uint64_t word = slots[(key.record + probe) & (geometry_.slots - 1)].load(std::memory_order_acquire);
    if (word == 0) return {.probe = probe};
    if (IndexRecord* const record = record_at(word, key)) return {.record = record, .probe = probe};
  }
  return {};
}

/// An offset, backed by pages; 0 where there is no room. Whoever wrote there and gave it back is done with it.
std::uint64_t SharedIndexStore::allocate(std::uint64_t bytes) noexcept {
  Counter& end = header().end;
  std::uint64_t begin = end.load(std::memory_order_relaxed);
  do {
    if (begin % kRecordAlignment != 0 || begin < geometry_.records_offset || begin > geometry_.file_bytes ||
        bytes > geometry_.file_bytes - begin) {
      return 0;
    }
  } while (!end.compare_exchange_weak(begin, begin + bytes, std::memory_order_acquire, std::memory_order_relaxed));
  return file_.back(begin, bytes) ? begin : 0;
}

/// A new record, or the one that another process has put there meanwhile; null without a place for it.
SharedIndexStore::IndexRecord* SharedIndexStore::place(const IndexKey& key, const IndexShape& shape,
                                                       RecordPlace at) noexcept {
  if (at.probe == kProbes) return nullptr;
  if (header().backed.load(std::memory_order_relaxed) == 0) {
    if (!file_.back(kSlotsOffset, geometry_.records_offset - kSlotsOffset)) return nullptr;
    header().backed.store(1, std::memory_order_release);
  }
  const std::uint64_t bytes = IndexRecord::bytes_for(shape.entries());
  const std::uint64_t offset = allocate(bytes);
  if (offset == 0) return nullptr;
  auto* const candidate = new (mapping_.data() + offset) IndexRecord{key.record, key.identity.inode, shape, 0};
  const std::uint64_t word = key.identity.inode >> kOffsetBits << kOffsetBits | offset;
  auto* const slots = reinterpret_cast<Counter*>(mapping_.data() + kSlotsOffset);
  IndexRecord* record = nullptr;
  for (std::uint64_t probe = at.probe; record == nullptr && probe < kProbes; ++probe) {
    std::uint64_t there = 0;
    Counter& slot = slots[(key.record + probe) & (geometry_.slots - 1)];
    if (slot.compare_exchange_strong(there, word, std::memory_order_acq_rel)) return candidate;
    record = record_at(there, key);
  }
  // Nobody else knows of the new record. Its memory is given back if nothing was put behind it.
  std::uint64_t end = offset + bytes;
  header().end.compare_exchange_strong(end, offset, std::memory_order_release, std::memory_order_relaxed);
  return record;
}

bool SharedIndexStore::get(const IndexKey& key, ScanIndex& index) {
  index.entries.clear();
  IndexHeader& counts = header();
  IndexRecord* const record = find(key).record;
  std::uint64_t word = record == nullptr ? 0 : record->known.load(std::memory_order_acquire);
  const KnownEntries known = KnownEntries::of(word);
  if (known.count == 0 || known.count == KnownEntries::kDamaged) {
    add(counts.misses);
    return false;
  }
  index.shape = record->shape;
  const bool possible = plausible(index.shape, known.count) && has_room(*record, known.count);
  if (possible) {
    index.entries.resize(known.count);
    record->read(index.entries);
  }
  if (possible && sum_of(key, index.shape, index.entries) == known.sum) {
    add(counts.hits);
    return true;
  }
  index.entries.clear();
  const std::uint64_t never = KnownEntries{.count = KnownEntries::kDamaged}.word();
  if (record->known.compare_exchange_strong(word, never, std::memory_order_relaxed)) add(counts.damaged);
  add(counts.misses);
  return false;
}

void SharedIndexStore::offer(const IndexKey& key, const IndexShape& shape, std::span<const IndexEntry> entries) {
  if (!plausible(shape, entries.size()) || shape.file_bytes != key.identity.size) return;
  IndexHeader& counts = header();
  RecordPlace at = find(key);
  if (at.record == nullptr) at.record = place(key, shape, at);
  if (at.record == nullptr) {
    add(counts.refused);
    return;
  }
  IndexRecord& record = *at.record;
  if (record.shape != shape || !has_room(record, entries.size())) return;
  const auto count = static_cast<std::uint32_t>(entries.size());
  std::uint64_t word = record.known.load(std::memory_order_acquire);
  if (KnownEntries::of(word).count >= count) return;
  record.write(entries, KnownEntries::of(word).count);
  const std::uint64_t mine = KnownEntries{.count = count, .sum = sum_of(key, shape, entries)}.word();
  while (KnownEntries::of(word).count < count) {
    const std::uint32_t before = KnownEntries::of(word).count;
    if (!record.known.compare_exchange_weak(word, mine, std::memory_order_acq_rel)) continue;
    if (before == 0) {
      add(counts.records);
      add(counts.complete_entries, shape.entries());
    }
    add(counts.entries, count - before);
    if (count == shape.entries()) add(counts.complete);
    return;
  }
}

SharedIndexStatistics SharedIndexStore::statistics() const noexcept {
  const IndexHeader& counts = header();
  return {.records = counts.records.load(std::memory_order_relaxed),
          .complete = counts.complete.load(std::memory_order_relaxed),
          .entries = counts.entries.load(std::memory_order_relaxed),
          .complete_entries = counts.complete_entries.load(std::memory_order_relaxed),
          .hits = counts.hits.load(std::memory_order_relaxed),
          .misses = counts.misses.load(std::memory_order_relaxed),
          .refused = counts.refused.load(std::memory_order_relaxed),
          .damaged = counts.damaged.load(std::memory_order_relaxed)};
}

}  // namespace drapps::jpeg
