#include "drapps/shm/item_cache.h"

#include <sched.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <cassert>
#include <thread>
#include <utility>

#include "drapps/base/clock.h"

namespace drapps {
namespace {

constexpr std::uint64_t kItemMagic = 0x3130'6d74'6961'7264;  // "draitm01"
constexpr std::uint64_t kMostItems = std::uint64_t{1} << 40;
constexpr std::uint64_t kMostItemBytes = std::uint64_t{1} << 46;
constexpr std::chrono::microseconds kFirstNap{50};
constexpr std::chrono::microseconds kLongestNap{2000};
constexpr std::uint64_t kMakerLookNs = 50'000'000;  // between looks whether the maker of an item runs

ItemGeometry plan_of(std::uint64_t items, std::uint64_t budget) {
  ItemGeometry plan{.magic = kItemMagic, .items = items, .budget = budget};
  plan.data_offset = round_up(kItemSlotsOffset + sizeof(ItemSlot) * items, kPageBytes);
  plan.file_bytes = round_up(plan.data_offset + plan.budget, kPageBytes);
  return plan;
}

bool possible(std::uint64_t items, std::uint64_t budget) {
  return items >= 1 && items <= kMostItems && budget <= kMostItemBytes;
}

/// Whether a geometry is what plan_of() gives for its own numbers.
bool is_plan(const ItemGeometry& layout) {
  if (!possible(layout.items, layout.budget) || layout.budget % kItemAlignment != 0) return false;
  const ItemGeometry plan = plan_of(layout.items, layout.budget);
  return layout.magic == plan.magic && layout.data_offset == plan.data_offset && layout.file_bytes == plan.file_bytes;
}

Owner me() { return {.process = ProcessName::own(), .state = kItemClaimed}; }

}  // namespace

ItemCache::ItemCache(SharedFile file, Mapping mapping, const ItemGeometry& geometry)
    : file_(std::move(file)),
      mapping_(std::move(mapping)),
      geometry_(geometry),
      book_(file_, mapping_.data(), geometry_) {}

Result<std::shared_ptr<ItemCache>> ItemCache::open(SharedFile file, const ItemGeometry& geometry) {
  auto mapping = file.map(0, geometry.file_bytes);
  if (!mapping.ok()) return std::move(mapping).error();
  madvise(mapping->data(), geometry.file_bytes, MADV_DONTDUMP);
  return std::shared_ptr<ItemCache>(new ItemCache(std::move(file), *std::move(mapping), geometry));
}

Result<std::shared_ptr<ItemCache>> ItemCache::make(std::uint64_t items, std::uint64_t budget, const ItemKey& key) {
  if (!possible(items, budget)) {
    return invalid("a cache has 1 to " + std::to_string(kMostItems) + " items and a budget of up to " +
                   std::to_string(kMostItemBytes) + " bytes, not " + std::to_string(items) + " and " +
                   std::to_string(budget));
  }
  ItemGeometry planned = plan_of(items, budget / kItemAlignment * kItemAlignment);
  planned.key = key;
  if (getrandom(planned.token.data(), sizeof(planned.token), 0) != sizeof(planned.token)) {
    return Error{.code = ErrorCode::kIo, .message = "the system gives no random bytes, which name a cache"};
  }
  auto file = SharedFile::make("drapps-items");
  if (!file.ok()) return std::move(file).error();
  DRAPPS_RETURN_IF_ERROR(file->grow(planned.file_bytes));
  // A slot may be looked at, or written to, at any time.
  if (!file->back(0, planned.data_offset)) {
    return Error{.code = ErrorCode::kResourceExhausted,
                 .message = "the system has no " + std::to_string(planned.data_offset) + " bytes for a table of " +
                            std::to_string(items) + " items; free some memory"};
  }
  auto cache = open(*std::move(file), planned);
  if (cache.ok()) {
    (*cache)->header().geometry = planned;
    (*cache)->book_.clear();
  }
  return cache;
}

Result<std::shared_ptr<ItemCache>> ItemCache::attach(pid_t pid, int fd, const ItemToken& token) {
  const std::string path = "/proc/" + std::to_string(pid) + "/fd/" + std::to_string(fd);
  const std::string whose = "the cached items of process " + std::to_string(pid);
  auto file = SharedFile::open(path);
  if (!file.ok()) {
    Error error = std::move(file).error();
    error.message = whose + " cannot be attached to (" + error.message +
                    "): that process must be running, of this user and in this container, and keep the dataset; fork "
                    "the workers, or make the cache in the process that uses it";
    return error;
  }
  ItemGeometry geometry{};
  if (pread(file->fd(), &geometry, sizeof(geometry), 0) != static_cast<ssize_t>(sizeof(geometry)) ||
      !is_plan(geometry) || geometry.token != token || geometry.file_bytes != file->bytes()) {
    return Error{.message = whose + " are not there any more: it has dropped the dataset; keep it while workers start",
                 .path = path};
  }
  return open(*std::move(file), geometry);
}

ItemCounterSet& ItemCache::counters() const noexcept {
  const int processor = std::max(sched_getcpu(), 0);
  return header().counters[static_cast<std::size_t>(processor) % kItemCounterSets];
}

std::optional<std::span<const std::byte>> ItemCache::get(std::uint64_t index) const noexcept {
  assert(index < items());
  const ItemSlot& item = slot(index);
  if (Owner::of(item.word.load(std::memory_order_acquire)).state != kItemReady) {
    counters().misses.fetch_add(1, std::memory_order_relaxed);
    return std::nullopt;
  }
  counters().hits.fetch_add(1, std::memory_order_relaxed);
  const auto extent = book_.extent_of(item);
  if (!extent) return std::span<const std::byte>();
  const std::uint64_t bytes = std::min(item.bytes.load(std::memory_order_relaxed), extent->bytes);
  return std::span<const std::byte>(mapping_.data() + extent->begin, bytes);
}

ItemClaim ItemCache::claim(std::uint64_t index, std::chrono::nanoseconds patience) {
  assert(index < items());
  const Owner self = me();
  if (self.process.start == 0) return ItemClaim::kBusy;  // others could not tell when it has died
  ItemSlot& wanted = slot(index);
  const std::uint64_t until = monotonic_ns() + static_cast<std::uint64_t>(std::max(patience.count(), std::int64_t{0}));
  std::uint64_t look = 0;
  std::chrono::microseconds nap = kFirstNap;
  for (;;) {
    std::uint64_t bits = wanted.word.load(std::memory_order_acquire);
    const Owner owner = Owner::of(bits);
    if (owner.state == kItemReady) return ItemClaim::kReady;
    const std::uint64_t now = monotonic_ns();
    bool free = owner.state == kItemAbsent;
    bool stopped = false;
    if (!free && now >= look) {
      free = owner.process.has_ended();
      stopped = !free && owner.process.is_stopped();
      look = now + kMakerLookNs;
    }
    if (free) {
      if (wanted.word.compare_exchange_strong(bits, self.bits(), std::memory_order_acq_rel)) return ItemClaim::kTaken;
      look = 0;  // the item is another's by now
      continue;
    }
    if (stopped) return ItemClaim::kStopped;
    if (now >= until) return ItemClaim::kBusy;
    std::this_thread::sleep_for(std::min<std::chrono::nanoseconds>(nap, std::chrono::nanoseconds(until - now)));
    nap = std::min(nap * 2, kLongestNap);
  }
}

bool ItemCache::mine(const ItemSlot& slot) const { return slot.word.load(std::memory_order_acquire) == me().bits(); }

Result<std::optional<std::span<std::byte>>> ItemCache::begin(std::uint64_t index, std::uint64_t bytes) {
  assert(index < items());
  ItemSlot& claimed = slot(index);
  if (!mine(claimed)) return invalid("item " + std::to_string(index) + " is not claimed by this process; claim it");
  if (book_.allocate(claimed, bytes, me())) {
    return std::optional(std::span<std::byte>(mapping_.data() + claimed.offset.load(std::memory_order_relaxed), bytes));
  }
  counters().refused.fetch_add(1, std::memory_order_relaxed);
  claimed.word.store(0, std::memory_order_release);
  return std::optional<std::span<std::byte>>();
}

Status ItemCache::publish(std::uint64_t index) {
  assert(index < items());
  ItemSlot& claimed = slot(index);
  if (!mine(claimed) || claimed.offset.load(std::memory_order_relaxed) == 0) {
    return invalid("item " + std::to_string(index) + " is not being written by this process; begin it");
  }
  claimed.word.store(Owner{.state = kItemReady}.bits(), std::memory_order_release);
  return ok_status();
}

void ItemCache::abandon(std::uint64_t index) {
  assert(index < items());
  ItemSlot& claimed = slot(index);
  if (!mine(claimed)) return;
  book_.release(claimed, me());
  counters().abandoned.fetch_add(1, std::memory_order_relaxed);
  claimed.word.store(0, std::memory_order_release);
}

bool ItemCache::first(std::uint32_t what) noexcept {
  const std::uint64_t bit = std::uint64_t{1} << (what % 64);
  return (header().asked.fetch_or(bit) & bit) == 0;
}

bool ItemCache::asked(std::uint32_t what) const noexcept {
  return (header().asked.load(std::memory_order_relaxed) >> (what % 64) & 1) != 0;
}

void ItemCache::reclaim() {
  if (const Owner self = me(); self.process.start != 0) book_.reclaim(self);
}

ItemStats ItemCache::stats() const noexcept {
  ItemStats sum{.bytes = book_.used()};
  for (const ItemSlot& one : book_.slots()) {
    if (Owner::of(one.word.load(std::memory_order_relaxed)).state == kItemReady) ++sum.kept;
  }
  for (const ItemCounterSet& one : header().counters) {
    sum.hits += one.hits.load(std::memory_order_relaxed);
    sum.misses += one.misses.load(std::memory_order_relaxed);
    sum.refused += one.refused.load(std::memory_order_relaxed);
    sum.abandoned += one.abandoned.load(std::memory_order_relaxed);
  }
  return sum;
}

}  // namespace drapps
