// Batch memory between two passes of a loader.
//
//   ArenaPlace place(engine.spare_arenas());
//   std::shared_ptr<SlotArena> arena = place.take();  // null where none is spare
//   place.keep(runner->arena());                      // as the pass ends
//
// A pass that ended leaves its arena to the next one, which then fills memory that is mapped already: mapping anew
// costs a page fault for every 4 KiB, some 10 ms for a batch of photographs. Meanwhile the memory counts against the
// budget, and is released for whoever has none.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

#include "drapps/deliver/slot_arena.h"

namespace drapps {

/// The spare arenas of an engine. Every member may be called from any thread.
class SpareArenas final : public Releasable {
 public:
  /// @param ledger  whose reserve() has the spare ones released.
  explicit SpareArenas(MemoryLedger& ledger) : ledger_(ledger) { ledger_.add(*this, ReleaseOrder::kSpareBatches); }
  ~SpareArenas() override { ledger_.remove(*this); }
  /// Unmaps all spare slots; the arenas stay usable.
  std::size_t release(std::size_t bytes) noexcept override;
  std::size_t releasable() const noexcept override;

 private:
  friend class ArenaPlace;
  bool add(const std::shared_ptr<SlotArena>& arena) noexcept;
  void remove(const SlotArena* arena) noexcept;

  MemoryLedger& ledger_;
  mutable std::mutex mutex_;  // guards all below; taken before an arena's
  std::vector<std::shared_ptr<SlotArena>> arenas_;
};

/// A loader's place for one arena. It dies with the loader, and what is spare in it is released then.
class ArenaPlace {
 public:
  explicit ArenaPlace(SpareArenas& all) noexcept : all_(all) {}
  ~ArenaPlace();
  ArenaPlace(const ArenaPlace&) = delete;
  ArenaPlace& operator=(const ArenaPlace&) = delete;

  /// Keeps `arena` for the next pass; or retires it, where another one is kept already or there is no memory for one
  /// more.
  void keep(std::shared_ptr<SlotArena> arena) noexcept;
  /// What is spare, or null; it is the caller's from then on.
  std::shared_ptr<SlotArena> take() noexcept;

 private:
  SpareArenas& all_;
  std::mutex mutex_;  // guards all below
  std::shared_ptr<SlotArena> arena_;
};

}  // namespace drapps
