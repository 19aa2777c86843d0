#include "drapps/cache/store.h"

#include <malloc.h>

#include <algorithm>
#include <cstdlib>
#include <new>
#include <utility>

#include "drapps/cache/store_entry.h"
#include "drapps/data/buffer.h"

namespace drapps::cache {
namespace {

// Words that an identity may be in, in each segment: many more than stand beside each other in a table that is full.
constexpr std::size_t kProbes = 256;
constexpr std::uint64_t kLeastPlaces = 64;
constexpr std::uint64_t kLeastGrowth = 4;  // a segment more is a quarter of those before: there are not many

// What is dropped at once where others need memory, as a share of all: finding the least worth takes a look at each.
constexpr std::size_t kDroppedAtOnce = 32;
// malloc keeps what is freed until it is told not to.
constexpr std::size_t kTrimmed = std::size_t{1} << 20;

__extension__ using Wide = unsigned __int128;

}  // namespace

Store::Store(MemoryLedger& account) : own_(&account, 0) {
  static_assert(sizeof(StoreEntry) == 32);
  static_assert(Members::kMost <= std::size_t{1} << (kFormShift - kMemberShift));
  own_.add(*this, ReleaseOrder::kCache);
}

Store::~Store() {
  own_.remove(*this);
  clear();
}

/// malloc keeps 8 bytes before a block and rounds the sum to 16.
std::size_t Store::size_of(FormId form, std::size_t bytes) noexcept {
  return (sizeof(StoreEntry) + bytes + (is_array(form) ? kPadding : 0) + 8 + 15) / 16 * 16;
}

template <class Visit>
Store::Word* Store::probe(const RecordIdentity& id, const Visit& visit) const noexcept {
  const std::size_t count = segment_count_.load(std::memory_order_acquire);
  for (std::size_t i = 0; i < count; ++i) {
    const StoreSegment& segment = segments_[i];
    auto at = static_cast<std::size_t>(static_cast<Wide>(id.high) * segment.size >> 64);
    const std::size_t probes = std::min(kProbes, segment.size);
    for (std::size_t n = 0; n < probes; ++n, at = at + 1 == segment.size ? 0 : at + 1) {
      Word& word = segment.words[at];
      const std::uint64_t bits = word.load(std::memory_order_acquire);
      if (visit(word, bits)) return &word;
      if (bits == kUnused && word.load(std::memory_order_relaxed) == kUnused) break;
    }
  }
  return nullptr;
}

/// The word of the entry, with a view of it for the caller to leave; or null.
Store::Word* Store::find(const RecordIdentity& id) noexcept {
  return probe(id, [&](Word& word, std::uint64_t bits) {
    while (live(bits) && (bits & kTag) == tag_of(id) && (bits & kPins) != kPins) {
      if (!word.compare_exchange_weak(bits, bits + 1, std::memory_order_acquire, std::memory_order_acquire)) continue;
      if (StoreEntry::of(bits).is(id)) return true;
      leave(word);
      return false;
    }
    return false;
  });
}

void Store::leave(Word& word) noexcept {
  const std::uint64_t bits = word.fetch_sub(1, std::memory_order_acq_rel);
  if ((bits & kMarked) == 0 || (bits & kPins) != 1) return;
  // The last view of what is to go: nobody can find it any more.
  StoreEntry& entry = StoreEntry::of(bits);
  count(entry, -1);
  word.store(kLeft, std::memory_order_release);
  unmake(entry);
}

/// Has an entry go with its last view, of which the caller has one. False where it was to go already.
bool Store::mark(Word& word) noexcept { return (word.fetch_or(kMarked, std::memory_order_acq_rel) & kMarked) == 0; }

void Store::unpin(std::uint64_t place) noexcept {
  leave(*reinterpret_cast<Word*>(place));  // NOLINT(performance-no-int-to-ptr): get() put it there
}

bool Store::has(const RecordIdentity& id) noexcept {
  Word* const word = find(id);
  if (word != nullptr) leave(*word);
  return word != nullptr;
}

View Store::get(const Key& key) noexcept {
  Word* const word = find(key.id);
  if (word == nullptr) return {};
  StoreEntry& entry = StoreEntry::of(word->load(std::memory_order_relaxed));
  if (entry.state != key.state) {
    if (mark(*word)) stale_.fetch_add(1, std::memory_order_relaxed);
    leave(*word);
    return {};
  }
  adopt(entry, key.member);
  return {*this, reinterpret_cast<std::uint64_t>(word), entry.form(), {entry.content(), entry.bytes()}};
}

/// Makes an entry the member's where its own member has left. Requires a view of the entry.
void Store::adopt(StoreEntry& entry, std::uint16_t member) noexcept {
  const std::uint16_t before = entry.member();
  if (before == member || members_.here(before) || !members_.here(member)) return;
  std::uint64_t seen = about(entry.form(), before, entry.bytes());
  if (!entry.about.compare_exchange_strong(seen, about(entry.form(), member, entry.bytes()))) return;
  members_.add(member, entry.size());
  members_.remove(before, entry.size());
}

void Store::drop(const RecordIdentity& id) noexcept {
  Word* const word = find(id);
  if (word == nullptr) return;
  mark(*word);
  leave(*word);
}

/// Takes memory for an entry; null where there is none.
Store::StoreEntry* Store::make(const Key& key, FormId form, std::size_t bytes, std::uint64_t saved_ns) noexcept {
  if (bytes > kBytes) return nullptr;
  const std::size_t size = size_of(form, bytes);
  if (!own_.try_reserve(size)) return nullptr;
  void* const block = std::malloc(size - 8);
  // A word has no room for addresses above 2^48, which nobody gets without asking for them.
  if (block == nullptr || reinterpret_cast<std::uintptr_t>(block) >> 48 != 0) {
    std::free(block);
    own_.release(size);
    return nullptr;
  }
  return new (block) StoreEntry{.low = key.id.low,
                                .state = key.state,
                                .about = about(form, key.member, bytes),
                                .high = static_cast<std::uint32_t>(key.id.high >> 32),
                                .saved_ns = static_cast<float>(saved_ns)};
}

void Store::unmake(StoreEntry& entry) noexcept {
  const std::size_t size = entry.size();
  std::free(&entry);
  own_.release(size);
}

Admission Store::offer(const Key& key, FormId form, std::size_t bytes, std::uint64_t saved_ns, const Fill& fill) {
  if (keeps(key)) return Admission::kExists;
  StoreEntry* entry = make(key, form, bytes, saved_ns);
  if (entry == nullptr && drop_left(size_of(form, bytes))) entry = make(key, form, bytes, saved_ns);
  if (entry != nullptr) {
    fill({entry->content(), bytes});
    const std::scoped_lock lock(stripes_[key.id.low % kStripes]);
    if (keeps(key)) {
      unmake(*entry);
      return Admission::kExists;
    }
    const std::uint64_t bits = reinterpret_cast<std::uintptr_t>(entry) << (kAddressShift - 4) | tag_of(key.id);
    count(*entry, 1);
    const bool placed = place(key.id, bits, false) || (make_places() && place(key.id, bits, false));
    if (placed || place(key.id, bits, true)) return Admission::kAdmitted;
    count(*entry, -1);
    unmake(*entry);
  }
  refused_.fetch_add(1, std::memory_order_relaxed);
  return Admission::kFull;
}

/// Whether the entry is kept; one of another state of its file is dropped.
bool Store::keeps(const Key& key) noexcept { return static_cast<bool>(get(key)); }

/// An eighth of each segment stays unused unless it is `needed`, so that who looks for what is not there soon finds
/// that.
bool Store::place(const RecordIdentity& id, std::uint64_t bits, bool needed) noexcept {
  const std::size_t count = segment_count_.load(std::memory_order_acquire);
  for (std::size_t i = 0; i < count; ++i) {
    StoreSegment& segment = segments_[i];
    auto at = static_cast<std::size_t>(static_cast<Wide>(id.high) * segment.size >> 64);
    const std::size_t probes = std::min(kProbes, segment.size);
    for (std::size_t n = 0; n < probes; ++n, at = at + 1 == segment.size ? 0 : at + 1) {
      Word& word = segment.words[at];
      std::uint64_t seen = word.load(std::memory_order_relaxed);
      if (address_of(seen) != 0) continue;
      const bool fresh = seen == kUnused;
      if (fresh && !needed && segment.used.load(std::memory_order_relaxed) >= segment.most()) break;
      if (!word.compare_exchange_strong(seen, bits, std::memory_order_release, std::memory_order_relaxed)) continue;
      if (fresh) segment.used.fetch_add(1, std::memory_order_relaxed);
      return true;
    }
  }
  return false;
}

void Store::count(const StoreEntry& entry, int entries) noexcept {
  entries > 0 ? members_.add(entry.member(), entry.size()) : members_.remove(entry.member(), entry.size());
  const auto times = static_cast<std::uint64_t>(static_cast<std::int64_t>(entries));  // modulo 2^64, as the sums are
  entries_.fetch_add(times, std::memory_order_relaxed);
  Sums& sums = sums_[static_cast<std::size_t>(entry.form())];
  sums.entries.fetch_add(times, std::memory_order_relaxed);
  sums.bytes.fetch_add(times * entry.bytes(), std::memory_order_relaxed);
  sums.saved_ns.fetch_add(times * static_cast<std::uint64_t>(entry.saved_ns), std::memory_order_relaxed);
}

std::size_t Store::room() const noexcept {
  const std::size_t used = own_.used();
  const std::size_t limit = own_.limit();
  const MemoryLedger& whole = own_.whole();
  const std::size_t own = limit - std::min(limit, used);
  return std::min(limit, std::min(own, whole.limit() - std::min(whole.limit(), whole.used())) + members_.left_bytes());
}

template <class Visit>
void Store::for_each(const Visit& visit) noexcept {
  const std::size_t count = segment_count_.load(std::memory_order_acquire);
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t at = 0; at < segments_[i].size; ++at) {
      Word& word = segments_[i].words[at];
      std::uint64_t bits = word.load(std::memory_order_acquire);
      while (live(bits) && (bits & kPins) != kPins) {
        if (!word.compare_exchange_weak(bits, bits + 1, std::memory_order_acquire, std::memory_order_acquire)) continue;
        visit(word, StoreEntry::of(bits));
        leave(word);
        break;
      }
    }
  }
}

/// The class of an entry, the lowest of which go first: 0 where its member has left, else by its worth.
std::size_t Store::class_of(const StoreEntry& entry) const noexcept {
  return members_.here(entry.member()) ? 1 + entry.worth() : 0;
}

/// Drops entries of members that have left, then those that save the least time per byte. Gives how many bytes are to
/// go, those of entries with a view among them.
std::size_t Store::drop_least(std::size_t bytes) noexcept {
  std::array<std::size_t, 65> by_class{};
  for_each([&](Word&, const StoreEntry& entry) { by_class[class_of(entry)] += entry.size(); });
  std::size_t classes = 0;  // whose entries may go
  for (std::size_t sum = 0; classes < by_class.size() && sum < bytes; ++classes) sum += by_class[classes];
  std::size_t gone = 0;
  for (const std::size_t last : {std::size_t{1}, std::size_t{0}}) {  // the class that goes in part goes last
    for_each([&](Word& word, const StoreEntry& entry) {
      if (gone >= bytes || class_of(entry) + last >= classes || !mark(word)) return;
      gone += entry.size();
      dropped_.fetch_add(1, std::memory_order_relaxed);
    });
  }
  if (gone >= kTrimmed) ::malloc_trim(0);
  return gone;
}

/// Drops so many bytes of members that have left, and a share of all at the least, evenly over the table: then there is
/// a place near any identity. False where there are none.
bool Store::drop_left(std::size_t bytes) noexcept {
  if (members_.left_bytes() == 0) return false;
  const std::scoped_lock lock(dropping_);
  const auto left = static_cast<double>(members_.left_bytes());
  const auto wanted = static_cast<double>(std::max(bytes, own_.used() / kDroppedAtOnce));
  double due = 0;
  for_each([&](Word& word, const StoreEntry& entry) {
    if (members_.here(entry.member())) return;
    due += static_cast<double>(entry.size()) * std::min(1.0, wanted / left);
    if (due <= 0 || !mark(word)) return;
    due -= static_cast<double>(entry.size());
    dropped_.fetch_add(1, std::memory_order_relaxed);
  });
  return true;
}

std::size_t Store::releasable() const noexcept {
  std::size_t bytes = 0;
  for (const Sums& sums : sums_) bytes += sums.bytes.load(std::memory_order_relaxed);
  return bytes;
}

std::size_t Store::release(std::size_t bytes) noexcept {
  const std::scoped_lock lock(dropping_);
  const std::size_t gone = drop_least(std::max(bytes, own_.used() / kDroppedAtOnce));
  // What is left is the budget from here on: what others needed once they need again.
  own_.set_limit(std::min(own_.limit(), own_.used()));
  return gone;
}

void Store::set_budget(std::size_t bytes) noexcept {
  own_.set_limit(bytes);
  if (own_.used() > bytes) drop_least(own_.used() - bytes);
}

Member Store::join(std::uint64_t entries, std::size_t budget) {
  const std::scoped_lock lock(mutex_);
  if (!members_.has_unused()) drop_left(members_.left_bytes());
  budgets_.insert(budget);
  set_budget(*budgets_.rbegin());
  expected_ += entries;
  if (!add_segment(expected_) && expected_ > places_ && drop_left(expected_ * sizeof(Word))) add_segment(expected_);
  return {entries, budget, members_.join()};
}

void Store::leave(const Member& member) noexcept {
  const std::scoped_lock lock(mutex_);
  budgets_.erase(budgets_.find(member.budget));
  expected_ -= member.entries;
  members_.leave(member.number);
  if (budgets_.empty()) clear();
  set_budget(budgets_.empty() ? 0 : *budgets_.rbegin());
}

/// Adds a segment, so that there are `wanted` places or more; none where there are as many, or no memory for it.
bool Store::add_segment(std::uint64_t wanted) noexcept {
  const std::size_t count = segment_count_.load(std::memory_order_relaxed);
  if (wanted <= places_ || count == kSegments) return false;
  const std::uint64_t places = std::max({wanted - places_, places_ / kLeastGrowth, kLeastPlaces});
  if (places > own_.limit() / sizeof(Word)) return false;
  const auto words = static_cast<std::size_t>(places * 8 / 7);
  const std::size_t bytes = words * sizeof(Word);
  if (!own_.try_reserve(bytes)) return false;
  // Zeros, of which a page is there once it is written to.
  StoreSegment& segment = segments_[count];
  segment.words.reset(static_cast<Word*>(std::calloc(words, sizeof(Word))));
  if (segment.words == nullptr) {
    own_.release(bytes);
    return false;
  }
  segment.size = words;
  segment.used.store(0, std::memory_order_relaxed);
  table_ += bytes;
  places_ += places;
  segment_count_.store(count + 1, std::memory_order_release);
  return true;
}

/// Whether there may be places now where there were none: in a segment more, or of members that have left.
bool Store::make_places() noexcept {
  const std::scoped_lock lock(mutex_);
  if (budgets_.empty()) return false;
  const std::uint64_t wanted = 2 * places_ + 1;
  if (add_segment(wanted)) return true;
  return drop_left(wanted * sizeof(Word)) && (add_segment(wanted) || members_.left_bytes() != 0);
}

void Store::clear() noexcept {
  const std::scoped_lock lock(dropping_);
  for_each([this](Word& word, const StoreEntry&) { mark(word); });
  segment_count_.store(0, std::memory_order_relaxed);
  for (StoreSegment& segment : segments_) segment.words.reset();
  own_.release(std::exchange(table_, 0));
  places_ = 0;
  ::malloc_trim(0);
}

StoreStatistics Store::statistics() const noexcept {
  StoreStatistics all;
  for (std::size_t form = 0; form < kForms; ++form) {
    all.forms[form] = {.entries = sums_[form].entries.load(std::memory_order_relaxed),
                       .bytes = sums_[form].bytes.load(std::memory_order_relaxed),
                       .saved_ns = sums_[form].saved_ns.load(std::memory_order_relaxed)};
  }
  all.refused = refused_.load(std::memory_order_relaxed);
  all.dropped = dropped_.load(std::memory_order_relaxed);
  all.stale = stale_.load(std::memory_order_relaxed);
  return all;
}

}  // namespace drapps::cache
