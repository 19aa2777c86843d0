#include "drapps/pipeline/large_pictures.h"

#include <algorithm>

#include "drapps/base/caught.h"

namespace drapps {

void LargePictures::add(std::uint64_t position, std::uint64_t pixels) noexcept {
  const std::scoped_lock lock(mutex_);
  static_cast<void>(catching([&] { entries_.push_back({position, pixels}); }));
  any_.store(!entries_.empty(), std::memory_order_relaxed);
}

std::vector<std::uint64_t> LargePictures::take(std::uint64_t before) {
  std::vector<std::uint64_t> pixels;
  if (!any_.load(std::memory_order_relaxed)) return pixels;
  const std::scoped_lock lock(mutex_);
  const auto later = std::ranges::partition(entries_, [&](const Entry& entry) { return entry.position < before; });
  std::ranges::sort(entries_.begin(), later.begin(), {}, &Entry::position);
  std::for_each(entries_.begin(), later.begin(), [&](const Entry& entry) { pixels.push_back(entry.pixels); });
  entries_.erase(entries_.begin(), later.begin());
  any_.store(!entries_.empty(), std::memory_order_relaxed);
  return pixels;
}

}  // namespace drapps
