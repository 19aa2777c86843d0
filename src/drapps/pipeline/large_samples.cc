#include "drapps/pipeline/large_samples.h"

#include <algorithm>

#include "drapps/base/caught.h"

namespace drapps {

void LargeSamples::add(std::uint64_t position, std::uint64_t units) noexcept {
  const std::scoped_lock lock(mutex_);
  static_cast<void>(catching([&] { samples_.push_back({position, units}); }));
  any_.store(!samples_.empty(), std::memory_order_relaxed);
}

std::vector<std::uint64_t> LargeSamples::take(std::uint64_t before) {
  std::vector<std::uint64_t> units;
  if (!any_.load(std::memory_order_relaxed)) return units;
  const std::scoped_lock lock(mutex_);
  const auto later = std::ranges::partition(samples_, [&](const Large& each) { return each.position < before; });
  std::ranges::sort(samples_.begin(), later.begin(), {}, &Large::position);
  std::for_each(samples_.begin(), later.begin(), [&](const Large& each) { units.push_back(each.units); });
  samples_.erase(samples_.begin(), later.begin());
  any_.store(!samples_.empty(), std::memory_order_relaxed);
  return units;
}

}  // namespace drapps
