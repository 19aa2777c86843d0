// What one loader keeps of ranges of files in a tier of the cache, as they are read there: blocks of text, rows of
// tokens. Whether a file has changed is looked at whenever a range of it is found.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "drapps/cache/tier.h"
#include "drapps/storage/file_reads.h"

namespace drapps::cache {

/// What a loader wants of the cache.
struct RangeCacheOptions {
  std::size_t budget = 0;  // bytes; see Tier::join()
  bool always = true;      // false: only what storage made a reader wait for, and not what the page cache holds
};

class RangeCache final : public KeptReads {
 public:
  /// @param tier  outlives this.
  RangeCache(Tier& tier, std::shared_ptr<const Storage> storage, const RangeCacheOptions& options);
  ~RangeCache() override;
  RangeCache(const RangeCache&) = delete;
  RangeCache& operator=(const RangeCache&) = delete;

  /// One more pass begins.
  void begin_pass() noexcept { passes_.fetch_add(1, std::memory_order_relaxed); }

  std::optional<Status> find(ReadRequest& request) noexcept override;
  void keep(const ReadRequest& request) noexcept override;
  bool has(const Location& at) const noexcept override;

  /// Requests that it answered.
  std::uint64_t hits() const noexcept { return hits_.load(std::memory_order_relaxed); }

 private:
  Tier& tier_;
  const std::shared_ptr<const Storage> storage_;
  const bool always_;
  const Member member_;
  std::atomic<std::uint32_t> passes_{0};
  std::atomic<std::uint64_t> hits_{0};
};

}  // namespace drapps::cache
