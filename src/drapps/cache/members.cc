#include "drapps/cache/members.h"

#include <algorithm>

namespace drapps::cache {

std::size_t Members::unused() const noexcept {
  const auto none =
      std::ranges::find_if(words_, [](const auto& of) { return of.load(std::memory_order_relaxed) == 0; });
  return static_cast<std::size_t>(none - words_.begin());
}

bool Members::has_unused() const noexcept { return unused() < kMost; }

std::uint16_t Members::join() noexcept {
  const std::size_t number = std::min(unused(), kMost - 1);
  if (number == kMost - 1) ++sharing_;
  const std::uint64_t before = words_[number].fetch_or(kHere, std::memory_order_relaxed);
  if ((before & kHere) == 0) left_bytes_.fetch_sub(static_cast<std::int64_t>(before), std::memory_order_relaxed);
  return static_cast<std::uint16_t>(number);
}

void Members::leave(std::uint16_t number) noexcept {
  if (number == kMost - 1 && --sharing_ != 0) return;
  const std::uint64_t bytes = words_[number].fetch_and(~kHere, std::memory_order_relaxed) & ~kHere;
  left_bytes_.fetch_add(static_cast<std::int64_t>(bytes), std::memory_order_relaxed);
}

void Members::add(std::uint16_t number, std::size_t bytes) noexcept {
  if ((words_[number].fetch_add(bytes, std::memory_order_relaxed) & kHere) != 0) return;
  left_bytes_.fetch_add(static_cast<std::int64_t>(bytes), std::memory_order_relaxed);
}

void Members::remove(std::uint16_t number, std::size_t bytes) noexcept {
  if ((words_[number].fetch_sub(bytes, std::memory_order_relaxed) & kHere) != 0) return;
  left_bytes_.fetch_sub(static_cast<std::int64_t>(bytes), std::memory_order_relaxed);
}

std::size_t Members::left_bytes() const noexcept {
  return static_cast<std::size_t>(std::max<std::int64_t>(left_bytes_.load(std::memory_order_relaxed), 0));
}

}  // namespace drapps::cache
