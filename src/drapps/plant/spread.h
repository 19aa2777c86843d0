// How a quantity was spread, in a few numbers: what an observation has in the place of a histogram.
#pragma once

#include <cstdint>

#include "drapps/base/histogram.h"

namespace drapps {

struct Spread {
  // Since the plant was made; they only ever rise.
  std::uint64_t count = 0;
  std::uint64_t sum = 0;
  // Of what came since the observation before: upper edges of a histogram's buckets (histogram.h), 0 where nothing did.
  std::uint64_t p50 = 0;
  std::uint64_t p90 = 0;
  std::uint64_t p99 = 0;
  std::uint64_t most = 0;
};

/// @param before  the same histogram at the observation before; becomes `now`.
Spread spread(const HistogramCounts& now, HistogramCounts& before) noexcept;

}  // namespace drapps
