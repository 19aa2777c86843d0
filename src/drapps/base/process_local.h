// One object per process, made on first use and never destroyed.
//
// After fork() the child has none of the parent's threads, and its parent's locks may be taken for ever. So a
// child abandons what its parent made, unseen, and makes its own.
#pragma once

#include <sys/types.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <new>
#include <utility>

namespace drapps {

/// The process's T. Its constructor must start nothing: where two threads come first at once, one T is thrown away.
template <class T>
T& process_local() {
  struct Made {
    pid_t maker;
    T value{};
  };
  static std::atomic<Made*> current{nullptr};
  Made* instance = current.load(std::memory_order_acquire);
  if (instance != nullptr && instance->maker == getpid()) return instance->value;
  auto* fresh = new Made{.maker = getpid()};
  if (current.compare_exchange_strong(instance, fresh, std::memory_order_acq_rel)) return fresh->value;
  delete fresh;
  return instance->value;
}

/// Never destroys what `value` holds: for what belongs to another process, whose locks may be taken for ever.
template <class T>
void abandon(T value) noexcept {
  alignas(T) std::array<std::byte, sizeof(T)> kept;
  new (kept.data()) T(std::move(value));
}

}  // namespace drapps
