#include "drapps/storage/prefetched_reads.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "drapps/base/caught.h"

namespace drapps {
namespace {

constexpr std::size_t kMostBytes = std::size_t{128} << 20;
// Ranges one behind the other that have to come at once before nothing is prefetched any more.
constexpr std::uint32_t kStreak = 16;
// What comes at once: a page cache has copied so many bytes in a microsecond, and answered in so many microseconds.
constexpr std::uint64_t kBytesPerMicrosecond = 2000;
constexpr std::uint64_t kAnswered = 50;
constexpr std::uint64_t kMicrosecond = 1000;

bool came_at_once(const ReadRequest& request) noexcept {
  return request.wall_ns < (kAnswered + request.bytes_read() / kBytesPerMicrosecond) * kMicrosecond;
}

}  // namespace

PrefetchedReads::PrefetchedReads(Storage& storage, std::shared_ptr<KeptReads> kept, MemoryLedger& ledger, int depth)
    : storage_(storage), kept_(std::move(kept)), ledger_(ledger), depth_(depth), slow_(!storage.page_cached()) {}

PrefetchedReads::~PrefetchedReads() {
  {
    std::unique_lock lock(mutex_);
    ending_ = true;
    ended_.wait(lock, [this] { return calls_ == 0; });  // a reader that goes gets nothing any more
  }
  reader_.reset();
}

void PrefetchedReads::set_depth(int depth) {
  depth_.store(depth, std::memory_order_relaxed);
  Reader* reader = nullptr;
  {
    const std::scoped_lock lock(mutex_);
    reader = reader_.get();
  }
  if (reader != nullptr) reader->set_depth(depth);  // which may begin more reads, and end some at once
}

/// Twice what is read at once, so that there is always one more to begin.
std::size_t PrefetchedReads::ahead() const noexcept {
  if (!slow_.load(std::memory_order_relaxed)) return 0;
  return 2 * static_cast<std::size_t>(depth_.load(std::memory_order_relaxed));
}

PrefetchedReads::Range PrefetchedReads::range_of(const Location& at) noexcept {
  return {at.shard != nullptr ? static_cast<const void*>(at.shard) : at.path, at.offset, at.length};
}

void PrefetchedReads::prefetch(const Location& at, const WhenRead& then) noexcept {
  if (ahead() == 0 || at.path == nullptr || at.length == 0 || has(at)) return;
  const MemoryLedger& whole = ledger_.whole();
  const std::size_t used = whole.used();
  if (used + at.length > whole.limit() || used - std::min(used, whole.releasable()) > whole.limit() / 2) return;
  static_cast<void>(catching([&] {
    if (PrefetchedRange* const added = add(at, then)) reader_->submit(added->request);
  }));
}

/// The range, which is to be submitted; null where it is there already, or there is no room for it.
PrefetchedReads::PrefetchedRange* PrefetchedReads::add(const Location& at, const WhenRead& then) {
  const Range range = range_of(at);
  const std::scoped_lock lock(mutex_);
  if (ranges_.contains(range) || !make_room(at.length)) return nullptr;
  if (reader_ == nullptr) {
    auto reader = storage_.make_reader({.depth = depth_.load(std::memory_order_relaxed)}, *this);
    if (!reader.ok()) return nullptr;
    reader_ = *std::move(reader);
  }
  auto added = std::make_unique<PrefetchedRange>(ledger_);
  if (!added->buffer.ensure(at.length).ok()) return nullptr;
  added->request.at[kFirstPart] = at;
  added->request.parts = 1;
  added->request.into[kFirstPart] = &added->buffer;
  added->then = then;
  added->due = taken_ + 4 * ranges_.size() + kStreak;
  PrefetchedRange* const placed = ranges_.emplace(range, std::move(added)).first->second.get();
  bytes_ += placed->buffer.capacity();
  count_.store(ranges_.size(), std::memory_order_relaxed);
  return placed;
}

/// Whether there is room for so many bytes, once what nobody has wanted is gone. With the mutex held.
bool PrefetchedReads::make_room(std::size_t bytes) noexcept {
  const std::size_t most = std::min(kMostBytes, ledger_.whole().limit() / 8);
  for (auto at = ranges_.begin(); bytes_ + bytes > most && at != ranges_.end();) {
    const PrefetchedRange& range = *at->second;
    const bool stale = range.status && range.due < taken_;
    if (stale) bytes_ -= range.buffer.capacity();
    at = stale ? ranges_.erase(at) : std::next(at);
  }
  return bytes_ + bytes <= most;
}

void PrefetchedReads::read_done(ReadRequest& request, Status status) noexcept {
  std::unique_lock lock(mutex_);
  PrefetchedRange& range = *ranges_.find(range_of(request.at[kFirstPart]))->second;
  if (range.then && status.ok() && !ending_) {  // until its status is there, the range is nobody else's
    ++calls_;
    lock.unlock();
    static_cast<void>(catching([&] { range.then(request.bytes[kFirstPart]); }));
    lock.lock();
    --calls_;
  }
  range.status.emplace(std::move(status));
  lock.unlock();
  ended_.notify_all();
}

/// The range once it has ended; null where it was not prefetched.
std::unique_ptr<PrefetchedReads::PrefetchedRange> PrefetchedReads::take(const Location& at) {
  const Range range = range_of(at);
  std::unique_lock lock(mutex_);
  while (true) {
    const auto place = ranges_.find(range);
    if (place == ranges_.end()) return nullptr;
    if (place->second->status) {
      auto taken = std::move(place->second);
      ranges_.erase(place);
      bytes_ -= taken->buffer.capacity();
      ++taken_;
      count_.store(ranges_.size(), std::memory_order_relaxed);
      return taken;
    }
    ended_.wait(lock);
  }
}

std::optional<Status> PrefetchedReads::find(ReadRequest& request) noexcept {
  const Location& at = request.at[kFirstPart];
  const auto taken = count_.load(std::memory_order_relaxed) > 0 ? take(at) : nullptr;
  if (taken == nullptr) return kept_ != nullptr ? kept_->find(request) : std::nullopt;
  if (!taken->status->ok()) {
    const ErrorCode code = taken->status->error().code;
    if (code == ErrorCode::kResourceExhausted) return {};
    return std::move(*taken->status);
  }
  const ReadRequest& read = taken->request;
  request.bytes = read.bytes;
  request.identity = read.identity;
  request.state = read.state;
  request.begun_ns = read.begun_ns;
  request.wall_ns = read.wall_ns;
  request.cpu_ns = read.cpu_ns;
  request.waited = !came_at_once(read);
  std::swap(*request.into[kFirstPart], taken->buffer);
  keep(request);
  return ok_status();
}

void PrefetchedReads::keep(const ReadRequest& request) noexcept {
  if (request.waited) {
    at_once_.store(0, std::memory_order_relaxed);
    slow_.store(true, std::memory_order_relaxed);
  } else if (slow_.load(std::memory_order_relaxed) && at_once_.fetch_add(1, std::memory_order_relaxed) + 1 >= kStreak) {
    slow_.store(false, std::memory_order_relaxed);
  }
  if (kept_ != nullptr) kept_->keep(request);
}

}  // namespace drapps
