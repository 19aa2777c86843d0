#include "drapps/cache/range_cache.h"

#include <sys/stat.h>

#include <algorithm>
#include <utility>

#include "drapps/base/caught.h"
#include "drapps/source/identity.h"
#include "drapps/storage/shard.h"

namespace drapps::cache {

RangeCache::RangeCache(Tier& tier, std::shared_ptr<const Storage> storage, const RangeCacheOptions& options)
    : tier_(tier), storage_(std::move(storage)), always_(options.always), member_(tier_.join(0, options.budget)) {}

RangeCache::~RangeCache() { tier_.leave(member_); }

bool RangeCache::has(const Location& at) const noexcept {
  return !tier_.empty() && at.path != nullptr && tier_.has(identity_of(at));
}

std::optional<Status> RangeCache::find(ReadRequest& request) noexcept {
  const Location& at = request.at[kFirstPart];
  struct stat status{};
  if (request.parts != 1 || !has(at) || ::stat(at.path, &status) != 0) return {};
  const std::uint64_t state = state_of(status);
  const View view = tier_.get({identity_of(at), state, member_.number});
  if (!view) return {};
  const auto kept = view.bytes();
  Buffer& into = *request.into[kFirstPart];
  if (!catching([&] { return into.ensure(kept.size()); }).ok()) return {};
  std::ranges::copy(kept, into.data());
  request.bytes[kFirstPart] = {into.data(), kept.size()};
  request.identity[kFirstPart] =
      at.shard == nullptr ? identity_of(status) : at.shard->record_identity(at.offset, at.length);
  request.state[kFirstPart] = state;
  request.begun_ns = request.wall_ns = request.cpu_ns = 0;
  request.waited = false;
  hits_.fetch_add(1, std::memory_order_relaxed);
  return ok_status();
}

void RangeCache::keep(const ReadRequest& request) noexcept {
  const Location& at = request.at[kFirstPart];
  const auto bytes = request.bytes[kFirstPart];
  if (request.parts != 1 || at.path == nullptr || request.state[kFirstPart] == kUnknownState) return;
  // What the page cache has let go by the next pass is not there to be had for nothing.
  const bool lost = !storage_->page_cached() || passes_.load(std::memory_order_relaxed) > 1;
  if (!(always_ || (request.waited && lost)) || tier_.room() < bytes.size()) return;
  static_cast<void>(catching([&] {
    tier_.offer({identity_of(at), request.state[kFirstPart], member_.number}, FormId::kBytes, bytes.size(),
                request.wall_ns, [&](std::span<std::uint8_t> place) { std::ranges::copy(bytes, place.begin()); });
  }));
}

}  // namespace drapps::cache
