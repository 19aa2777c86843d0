// Things known to a process by their names.
#pragma once

#include <atomic>
#include <string_view>

namespace drapps {

/// A list that only grows, at its front: it needs no lock, which a fork could leave taken. T has a `name`.
template <class T>
class Registry {
 public:
  struct Entry {
    T value;
    const Entry* next = nullptr;
  };

  /// @param first  the first of the entries known from the start; they outlive the registry.
  constexpr explicit Registry(const Entry& first) noexcept : first_(&first) {}

  /// A name that is known already keeps what it has.
  void add(const T& value) {
    if (find(value.name) != nullptr) return;
    auto* fresh = new Entry{value, first_.load(std::memory_order_acquire)};
    while (!first_.compare_exchange_weak(fresh->next, fresh, std::memory_order_acq_rel)) {
    }
  }

  /// What has the name; null where nothing has it.
  const T* find(std::string_view name) const noexcept {
    const Entry* entry = first();
    while (entry != nullptr && entry->value.name != name) entry = entry->next;
    return entry == nullptr ? nullptr : &entry->value;
  }

  /// The entry that was added last; the others follow.
  const Entry* first() const noexcept { return first_.load(std::memory_order_acquire); }

 private:
  std::atomic<const Entry*> first_;
};

}  // namespace drapps
