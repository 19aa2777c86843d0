// A batch while its rows land, and the batch that the user gets.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "drapps/base/error.h"
#include "drapps/deliver/slot_arena.h"
#include "drapps/pipeline/plan.h"

namespace drapps {

/// One place of the ring. Guarded by the executor's mutex.
struct BatchState {
  Slot* slot = nullptr;                                 // from its first row's start to its delivery
  std::uint32_t rows = 0;                               // of this rank; once landed, those that are left
  std::uint32_t left = 0;                               // rows that have not landed
  std::vector<std::pair<std::uint32_t, Error>> failed;  // row and why
  std::optional<Error> raised;                          // what the consumer gets in the batch's place

  /// Of several errors the first stays.
  void raise(Error error) noexcept {
    if (!raised) raised = std::move(error);
  }

  bool started() const noexcept { return slot != nullptr; }
  bool landed() const noexcept { return started() && left == 0; }
};

/// A finished batch: the user's, until the last reference to `slot` dies.
struct Batch {
  HeldSlot slot;
  std::shared_ptr<const Plan> plan;  // columns are plan->layout's
  std::uint32_t rows = 0;            // after bad rows were dropped; may be 0
  std::uint64_t step = 0;
  std::uint64_t position = 0;  // of the epoch, consumed once every rank has this batch
};

}  // namespace drapps
