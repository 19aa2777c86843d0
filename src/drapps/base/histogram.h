// Durations in logarithmic buckets, written by many threads without a lock.
//
//   histogram.record(monotonic_ns() - begun_ns);
//   const std::uint64_t median_ns = histogram.counts().quantile(0.5);
//
// A duration of n nanoseconds falls into one of four buckets per power of two. A quantile is the upper edge of a
// bucket, so the value is at most a fifth less. Reading is not a snapshot: a reader may miss what was recorded a moment
// ago, never more.
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace drapps {

inline constexpr std::size_t kHistogramBuckets = 256;

/// What a histogram had counted when it was read. Those of several histograms add.
struct HistogramCounts {
  std::array<std::uint64_t, kHistogramBuckets> buckets{};
  std::uint64_t count = 0;
  std::uint64_t sum = 0;  // of the recorded values

  double mean() const noexcept { return count == 0 ? 0.0 : static_cast<double>(sum) / static_cast<double>(count); }
  /// Upper edge of the bucket in which the q-quantile lies, q in [0, 1]; 0 when empty.
  std::uint64_t quantile(double q) const noexcept;
  HistogramCounts& operator+=(const HistogramCounts& other) noexcept;
  /// Counts one more value. One thread at a time.
  void record(std::uint64_t value) noexcept;
};

class Histogram {
 public:
  void record(std::uint64_t value, std::uint64_t times = 1) noexcept {
    buckets_[bucket_of(value)].fetch_add(times, std::memory_order_relaxed);
    sum_.fetch_add(times * value, std::memory_order_relaxed);
  }
  HistogramCounts counts() const noexcept;
  std::uint64_t sum() const noexcept { return sum_.load(std::memory_order_relaxed); }

  static constexpr std::size_t bucket_of(std::uint64_t value) noexcept {
    if (value < 4) return static_cast<std::size_t>(value);
    const auto exponent = static_cast<std::size_t>(std::bit_width(value)) - 1;
    return exponent * 4 + ((value >> (exponent - 2)) & 3) - 4;
  }
  /// Largest value of a bucket.
  static constexpr std::uint64_t upper_edge(std::size_t bucket) noexcept {
    if (bucket < 4) return bucket;
    const std::size_t exponent = (bucket + 4) / 4;
    const std::uint64_t quarter = (bucket + 4) % 4;
    return ((4 + quarter + 1) << (exponent - 2)) - 1;
  }

 private:
  std::array<std::atomic<std::uint64_t>, kHistogramBuckets> buckets_{};
  std::atomic<std::uint64_t> sum_{0};
};

inline void HistogramCounts::record(std::uint64_t value) noexcept {
  ++buckets[Histogram::bucket_of(value)];
  ++count;
  sum += value;
}

}  // namespace drapps
