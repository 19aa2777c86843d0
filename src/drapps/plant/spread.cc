#include "drapps/plant/spread.h"

#include <array>
#include <cmath>

namespace drapps {

Spread spread(const HistogramCounts& now, HistogramCounts& before) noexcept {
  Spread spread{.count = now.count, .sum = now.sum};
  const std::uint64_t came = now.count - before.count;
  if (came != 0) {
    const auto rank = [came](double q) { return static_cast<std::uint64_t>(std::ceil(q * static_cast<double>(came))); };
    const std::array ranks{rank(0.5), rank(0.9), rank(0.99), came};
    const std::array<std::uint64_t*, 4> quantiles{&spread.p50, &spread.p90, &spread.p99, &spread.most};
    std::size_t next = 0;
    std::uint64_t seen = 0;
    for (std::size_t i = 0; i < kHistogramBuckets && next < ranks.size(); ++i) {
      seen += now.buckets[i] - before.buckets[i];
      for (; next < ranks.size() && seen >= ranks[next]; ++next) *quantiles[next] = Histogram::upper_edge(i);
    }
    before = now;
  }
  before.sum = now.sum;
  return spread;
}

}  // namespace drapps
