#include "drapps/deliver/spare_arenas.h"

#include <algorithm>
#include <utility>

#include "drapps/base/caught.h"

namespace drapps {

std::size_t SpareArenas::release(std::size_t) noexcept {
  const std::scoped_lock lock(mutex_);
  std::size_t sum = 0;
  for (const auto& arena : arenas_) sum += arena->trim();
  return sum;
}

std::size_t SpareArenas::releasable() const noexcept {
  const std::scoped_lock lock(mutex_);
  std::size_t sum = 0;
  for (const auto& arena : arenas_) sum += arena->spare_bytes();
  return sum;
}

bool SpareArenas::add(const std::shared_ptr<SlotArena>& arena) noexcept {
  const std::scoped_lock lock(mutex_);
  return catching([&] { arenas_.push_back(arena); }).ok();
}

void SpareArenas::remove(const SlotArena* arena) noexcept {
  const std::scoped_lock lock(mutex_);
  std::erase_if(arenas_, [arena](const auto& each) { return each.get() == arena; });
}

ArenaPlace::~ArenaPlace() {
  if (const auto arena = take()) arena->retire();
}

void ArenaPlace::keep(std::shared_ptr<SlotArena> arena) noexcept {
  {
    const std::scoped_lock lock(mutex_);
    if (arena_ == nullptr && all_.add(arena)) {
      arena_ = std::move(arena);
      return;
    }
  }
  arena->retire();
}

std::shared_ptr<SlotArena> ArenaPlace::take() noexcept {
  const std::scoped_lock lock(mutex_);
  if (arena_ != nullptr) all_.remove(arena_.get());
  return std::exchange(arena_, nullptr);
}

}  // namespace drapps
