// A window whose batches lie in slots: rows of a plan's columns. The last row completes a batch: bad rows leave it, or
// make it an error, and its batch ops run.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "drapps/deliver/slot_arena.h"
#include "drapps/pipeline/plan.h"
#include "drapps/pipeline/window.h"

namespace drapps {

/// A finished batch: the user's, until the last reference to `slot` dies.
struct Batch {
  HeldSlot slot;
  std::shared_ptr<const Plan> plan;  // columns are plan->layout's
  std::uint32_t rows = 0;            // after bad rows were dropped; may be 0
  std::uint64_t step = 0;
  std::uint64_t position = 0;  // of the epoch, consumed once every rank has this batch
};

inline bool exhausted(const Status& status) {
  return !status.ok() && status.error().code == ErrorCode::kResourceExhausted;
}

/// Whether an error says nothing about the sample, and is one under every OnError.
inline bool blameless(const Error& error) {
  return error.code == ErrorCode::kResourceExhausted || error.code == ErrorCode::kInternal ||
         error.code == ErrorCode::kCancelled || error.code == ErrorCode::kDeviceLost ||
         error.code == ErrorCode::kNoGoodData;
}

/// The payload of window.h.
class SlotPayload {
 public:
  using Place = Slot*;
  using Held = HeldSlot;
  using Taken = Batch;
  /// Runs the batch ops on the first `rows` rows of a slot.
  using BatchOps = std::function<void(std::byte* slot, std::uint64_t step, std::uint32_t rows)>;

  /// @param arena  of slots as large as the plan's layout.
  /// @param ops    empty where there are none.
  SlotPayload(std::shared_ptr<const Plan> plan, std::shared_ptr<SlotArena> arena, std::uint32_t epoch, BatchOps ops)
      : plan_(std::move(plan)), arena_(std::move(arena)), epoch_(epoch), ops_(std::move(ops)) {}

  Result<Slot*> acquire() { return arena_->acquire(); }
  void abandon(Slot* slot) noexcept { arena_->abandon(slot); }
  bool completes() const noexcept { return static_cast<bool>(ops_); }
  std::optional<Error> complete(Slot* slot, std::uint64_t step, std::uint32_t& rows, std::vector<FailedRow>& failed);
  HeldSlot yield(Slot* slot, std::uint64_t step, std::uint32_t rows);
  Batch taken(const HeldSlot& held, std::uint64_t step, std::uint32_t rows, std::uint64_t position) const {
    return {.slot = held, .plan = plan_, .rows = rows, .step = step, .position = position};
  }

 private:
  std::shared_ptr<const Plan> plan_;
  std::shared_ptr<SlotArena> arena_;
  std::uint32_t epoch_;
  BatchOps ops_;
};

extern template class Window<SlotPayload>;
using BatchWindow = Window<SlotPayload>;

}  // namespace drapps
