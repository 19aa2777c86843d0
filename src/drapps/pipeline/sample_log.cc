#include "drapps/pipeline/sample_log.h"

#include <functional>
#include <utility>

#include "drapps/base/philox.h"

namespace drapps {

double SampleReservoir::weight() const noexcept {
  return added_ == 0 || room_ == 0 ? 0 : static_cast<double>(added_) / static_cast<double>(kept().size());
}

/// Uniform in {0, …, bound - 1}, nearly: the bias is below bound / 2^64.
std::uint32_t SampleReservoir::below(std::uint64_t bound) noexcept {
  constexpr std::uint64_t kMostBound = ~std::uint32_t{0};
  return Draws({.position = drawn_++}, 0).below(static_cast<std::uint32_t>(std::min(bound, kMostBound)));
}

void SampleReservoir::add(const SampleTimes& sample) noexcept {
  if (room_ == 0) return;
  const std::uint64_t place = added_ < room_ ? added_ : below(added_ + 1);
  ++added_;
  if (place < room_) samples_[place] = sample;
}

void SampleReservoir::merge(const SampleReservoir& other) noexcept {
  // All of both in a random order are drawn from one after the other. Which of its own a side gives next does not
  // matter to how many it gives, so it gives those that it kept.
  std::array<SampleTimes, kMost> own = samples_;
  std::array<SampleTimes, kMost> others = other.samples_;
  std::size_t own_kept = kept().size();
  std::size_t others_kept = other.kept().size();
  std::uint64_t own_left = added_;
  std::uint64_t others_left = other.added_;
  added_ += other.added_;
  const std::size_t keep = kept().size();
  for (std::size_t i = 0; i < keep; ++i) {
    const bool is_own = below(own_left + others_left) < own_left;
    auto& from = is_own ? own : others;
    std::size_t& left = is_own ? own_kept : others_kept;
    --(is_own ? own_left : others_left);
    std::swap(from[below(left)], from[left - 1]);
    samples_[i] = from[--left];
  }
}

void SampleLog::add(const SampleTimes& sample) noexcept {
  const std::scoped_lock lock(mutex_);
  keep_if_slow(sample);
  reservoir_.add(sample);
}

void SampleLog::keep_if_slow(const SampleTimes& sample) noexcept {
  SampleTimes& least = *std::ranges::min_element(slowest_, {}, &SampleTimes::service_ns);
  if (sample.service_ns() <= least.service_ns()) return;
  least = sample;
  least_slow_ns_.store(std::ranges::min(slowest_, {}, &SampleTimes::service_ns).service_ns(),
                       std::memory_order_relaxed);
}

std::vector<SampleTimes> SampleLog::slowest() const {
  std::vector<SampleTimes> times;
  {
    const std::scoped_lock lock(mutex_);
    std::ranges::copy_if(slowest_, std::back_inserter(times), [](const auto& each) { return each.service_ns() > 0; });
  }
  std::ranges::sort(times, std::greater(), &SampleTimes::service_ns);
  return times;
}

void SampleLog::sample(std::size_t room) noexcept {
  const std::scoped_lock lock(mutex_);
  if (room == reservoir_.room()) return;
  reservoir_ = SampleReservoir(room);
  room_.store(reservoir_.room(), std::memory_order_relaxed);
}

SampleReservoir SampleLog::take() noexcept {
  const std::scoped_lock lock(mutex_);
  SampleReservoir taken = reservoir_;
  reservoir_.clear();
  return taken;
}

void SampleLog::merge(const SampleLog& other) noexcept {
  std::array<SampleTimes, kSlowest> slowest;
  SampleReservoir reservoir;
  {
    const std::scoped_lock lock(other.mutex_);
    slowest = other.slowest_;
    reservoir = other.reservoir_;
  }
  const std::scoped_lock lock(mutex_);
  for (const SampleTimes& each : slowest) keep_if_slow(each);
  if (reservoir.room() == reservoir_.room()) reservoir_.merge(reservoir);
}

}  // namespace drapps
