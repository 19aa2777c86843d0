#include "drapps/base/histogram.h"

#include <cmath>

namespace drapps {

HistogramCounts Histogram::counts() const noexcept {
  HistogramCounts counts;
  for (std::size_t i = 0; i < kHistogramBuckets; ++i) {
    counts.buckets[i] = buckets_[i].load(std::memory_order_relaxed);
    counts.count += counts.buckets[i];
  }
  counts.sum = sum_.load(std::memory_order_relaxed);
  return counts;
}

std::uint64_t HistogramCounts::quantile(double q) const noexcept {
  if (count == 0) return 0;
  const auto rank = static_cast<std::uint64_t>(std::ceil(q * static_cast<double>(count)));
  std::uint64_t seen = 0;
  for (std::size_t i = 0; i < kHistogramBuckets; ++i) {
    seen += buckets[i];
    if (seen >= rank && buckets[i] > 0) return Histogram::upper_edge(i);
  }
  return Histogram::upper_edge(kHistogramBuckets - 1);
}

HistogramCounts& HistogramCounts::operator+=(const HistogramCounts& other) noexcept {
  for (std::size_t i = 0; i < kHistogramBuckets; ++i) buckets[i] += other.buckets[i];
  count += other.count;
  sum += other.sum;
  return *this;
}

}  // namespace drapps
