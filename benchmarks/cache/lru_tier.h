// A cache of the kind that DRAPPS is compared with: what was asked for longest ago goes for what comes.
#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <span>

#include "drapps/cache/store.h"

namespace drapps::bench {

/// Entries are counted as cache::Store counts them. One lock for all: readers here wait for storage, not for it.
class LruTier final : public cache::Tier {
 public:
  explicit LruTier(std::size_t budget) : budget_(budget) {}

  cache::Member join(std::uint64_t /*entries*/, std::size_t /*budget*/) override { return {}; }
  void leave(const cache::Member& /*member*/) noexcept override {}

  bool empty() const noexcept override {
    const std::lock_guard lock(mutex_);
    return order_.empty();
  }

  bool has(const RecordIdentity& id) noexcept override {
    const std::lock_guard lock(mutex_);
    return places_.contains(id);
  }

  cache::View get(const cache::Key& key) noexcept override {
    const std::lock_guard lock(mutex_);
    const auto found = places_.find(key.id);
    if (found == places_.end() || found->second->state != key.state) return {};
    order_.splice(order_.begin(), order_, found->second);
    Entry& entry = *found->second;
    ++entry.views;
    return {*this, reinterpret_cast<std::uintptr_t>(&entry), entry.form, {entry.content.get(), entry.bytes}};
  }

  cache::Admission offer(const cache::Key& key, cache::FormId form, std::size_t bytes, std::uint64_t /*saved_ns*/,
                         const Fill& fill) override {
    const std::size_t size = cache::Store::size_of(form, bytes);
    if (size > budget_) return cache::Admission::kFull;
    const std::lock_guard lock(mutex_);
    if (places_.contains(key.id)) return cache::Admission::kExists;
    while (used_ + size > budget_) evict(std::prev(order_.end()));
    Entry& entry = order_.emplace_front();
    entry.id = key.id;
    entry.state = key.state;
    entry.form = form;
    entry.bytes = bytes;
    entry.content = std::make_unique<std::uint8_t[]>(bytes + kPadding);
    fill({entry.content.get(), bytes});
    places_[key.id] = order_.begin();
    used_ += size;
    return cache::Admission::kAdmitted;
  }

  void drop(const RecordIdentity& id) noexcept override {
    const std::lock_guard lock(mutex_);
    if (const auto found = places_.find(id); found != places_.end()) evict(found->second);
  }

  std::size_t room() const noexcept override { return budget_; }

 private:
  struct Entry {
    RecordIdentity id;
    std::uint64_t state = 0;
    cache::FormId form = cache::FormId::kBytes;
    std::size_t bytes = 0;
    std::unique_ptr<std::uint8_t[]> content;
    int views = 0;
    bool evicted = false;
  };
  using Entries = std::list<Entry>;

  void evict(Entries::iterator entry) {
    places_.erase(entry->id);
    used_ -= cache::Store::size_of(entry->form, entry->bytes);
    entry->evicted = true;
    leaving_.splice(leaving_.begin(), order_, entry);
    if (entry->views == 0) leaving_.erase(entry);
  }

  void unpin(std::uint64_t place) noexcept override {
    const std::lock_guard lock(mutex_);
    Entry& entry = *reinterpret_cast<Entry*>(place);
    if (--entry.views == 0 && entry.evicted) {
      leaving_.remove_if([&](const Entry& other) { return &other == &entry; });
    }
  }

  const std::size_t budget_;
  mutable std::mutex mutex_;
  Entries order_;    // the one asked for last is first
  Entries leaving_;  // evicted, with a view
  std::map<RecordIdentity, Entries::iterator> places_;
  std::size_t used_ = 0;
};

}  // namespace drapps::bench
