// Batch memory between two passes of a loader.
//
// A pass that ended leaves its arena to the next one, which then fills memory that is mapped already: mapping anew
// costs a page fault for every 4 KiB, some 10 ms for a batch of photographs. Meanwhile the memory counts against the
// budget, and is given back to whoever has none.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

#include "drapps/deliver/slot_arena.h"

namespace drapps {

/// All parked arenas of an engine. Every member may be called from any thread.
class ParkedArenas final : public Yielding {
 public:
  /// @param ledger  whose reserve() asks for what is parked.
  explicit ParkedArenas(MemoryLedger& ledger) : ledger_(ledger) { ledger_.add(*this, YieldOrder::kParked); }
  ~ParkedArenas() override { ledger_.remove(*this); }
  /// Unmaps all that is parked; the arenas stay usable.
  std::size_t yield(std::size_t bytes) noexcept override;
  std::size_t yieldable() const noexcept override;

 private:
  friend class ArenaPlace;
  bool add(const std::shared_ptr<SlotArena>& arena) noexcept;
  void remove(const SlotArena* arena) noexcept;

  MemoryLedger& ledger_;
  mutable std::mutex mutex_;  // guards all below; taken before an arena's
  std::vector<std::shared_ptr<SlotArena>> parked_;
};

/// A loader's place for one arena. It dies with the loader, and what is parked in it is given back then.
class ArenaPlace {
 public:
  explicit ArenaPlace(ParkedArenas& all) noexcept : all_(all) {}
  ~ArenaPlace();
  ArenaPlace(const ArenaPlace&) = delete;
  ArenaPlace& operator=(const ArenaPlace&) = delete;

  /// Parks `arena`; or retires it, where another one is parked already or there is no memory for one more.
  void park(std::shared_ptr<SlotArena> arena) noexcept;
  /// What is parked, or null; it is the caller's from then on.
  std::shared_ptr<SlotArena> take() noexcept;

 private:
  ParkedArenas& all_;
  std::mutex mutex_;  // guards all below
  std::shared_ptr<SlotArena> arena_;
};

}  // namespace drapps
