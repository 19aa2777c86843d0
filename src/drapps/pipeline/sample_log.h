// Which samples were slow, and a few of all that were made, with the time that each lane took.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <numeric>
#include <span>
#include <vector>

#include "drapps/base/lane.h"
#include "drapps/source/learned.h"

namespace drapps {

/// What one sample took, or a run of neighbouring rows of arrays, which is made as a whole.
struct SampleTimes {
  std::uint64_t record = 0;    // its index; of a run the first one
  std::uint64_t position = 0;  // in the order of the epoch; likewise
  std::uint32_t epoch = 0;
  std::uint32_t rows = 1;             // of the run
  std::uint64_t bytes = 0;            // of all parts of its record; 0 for rows of arrays, and where it failed
  Learned known = Learned::kNothing;  // of its record, when it was decoded
  std::uint64_t cpu_ns = 0;           // in all lanes
  std::array<std::uint64_t, kLanes.size()> wall_ns{};  // of service, in the order of kLanes: no wait for a turn

  /// The service time of all lanes together, per row.
  std::uint64_t service_ns() const noexcept {
    return std::accumulate(wall_ns.begin(), wall_ns.end(), std::uint64_t{0}) / rows;
  }
};

/// Some of all samples that were added, each with the same chance: each stands for added / kept of them. The numbers
/// that it draws are a function of how many samples it has seen. Source: J. S. Vitter, "Random sampling with a
/// reservoir", ACM TOMS 11 (1985), algorithm R.
class SampleReservoir {
 public:
  static constexpr std::size_t kMost = 32;

  explicit SampleReservoir(std::size_t room = kMost) noexcept : room_(std::min(room, kMost)) {}
  std::size_t room() const noexcept { return room_; }
  std::uint64_t added() const noexcept { return added_; }
  std::span<const SampleTimes> kept() const noexcept {
    return std::span(samples_).first(static_cast<std::size_t>(std::min<std::uint64_t>(added_, room_)));
  }
  /// 0 where there are none.
  double weight() const noexcept;

  void add(const SampleTimes& sample) noexcept;
  /// Adds the samples of another reservoir, as if they had been added here. What either kept must be as many as there
  /// is room for here, or all.
  void merge(const SampleReservoir& other) noexcept;
  /// Forgets the samples, but not how many it has seen.
  void clear() noexcept { added_ = 0; }

 private:
  std::uint32_t below(std::uint64_t bound) noexcept;

  std::size_t room_;
  std::uint64_t added_ = 0;
  std::uint64_t drawn_ = 0;
  std::array<SampleTimes, kMost> samples_;
};

/// The samples of a pass, or of several, that were slow or drawn. Every member may be called from any thread.
class SampleLog {
 public:
  static constexpr std::size_t kSlowest = 8;

  /// Whether a sample that took so long is to be added; two relaxed loads.
  bool wants(std::uint64_t service_ns) const noexcept {
    return service_ns > least_slow_ns_.load(std::memory_order_relaxed) || room_.load(std::memory_order_relaxed) > 0;
  }
  /// A sample was made, or failed.
  void add(const SampleTimes& sample) noexcept;

  /// Slowest first.
  std::vector<SampleTimes> slowest() const;
  /// From now on a reservoir of `room` samples, at most SampleReservoir::kMost, is kept; 0: none, as at first.
  void sample(std::size_t room) noexcept;
  /// What was kept since the last call, or since sample().
  SampleReservoir take() noexcept;

  /// The slowest of the other, too, and its reservoir where this one has as much room; the other stays as it is.
  void merge(const SampleLog& other) noexcept;

 private:
  void keep_if_slow(const SampleTimes& sample) noexcept;

  std::atomic<std::uint64_t> least_slow_ns_{0};  // what a sample must exceed to be among the slowest
  std::atomic<std::size_t> room_{0};

  mutable std::mutex mutex_;  // guards all below, and changes of those above
  std::array<SampleTimes, kSlowest> slowest_;
  SampleReservoir reservoir_{0};
};

}  // namespace drapps
