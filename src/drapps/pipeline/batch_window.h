// The batches of one pass that are under way: opened as there is memory, filled by whoever, taken in order.
//
// A runner says which rows a batch has and fills them in its slot, in any order and from any thread; that they stand is
// a call of its own, as late as it likes. The last row completes the batch: bad rows leave it, or make it an error, and
// its batch ops run. Every taker gets every batch behind the place where it joined, in order, at its own pace. The
// slowest of them bounds how far ahead batches are opened; a slot is released when the last one has taken its batch.
#pragma once

#include <array>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <utility>
#include <variant>
#include <vector>

#include "drapps/base/error.h"
#include "drapps/base/result.h"
#include "drapps/deliver/slot_arena.h"
#include "drapps/pipeline/metrics.h"
#include "drapps/pipeline/plan.h"

namespace drapps {

/// A finished batch: the user's, until the last reference to `slot` dies.
struct Batch {
  HeldSlot slot;
  std::shared_ptr<const Plan> plan;  // columns are plan->layout's
  std::uint32_t rows = 0;            // after bad rows were dropped; may be 0
  std::uint64_t step = 0;
  std::uint64_t position = 0;  // of the epoch, consumed once every rank has this batch
};

/// A row of a batch, and why it is bad.
using FailedRow = std::pair<std::uint32_t, Error>;

inline bool exhausted(const Status& status) {
  return !status.ok() && status.error().code == ErrorCode::kResourceExhausted;
}

/// Whether an error says nothing about the sample, and is one under every OnError.
inline bool blameless(const Error& error) {
  return error.code == ErrorCode::kResourceExhausted || error.code == ErrorCode::kInternal ||
         error.code == ErrorCode::kCancelled || error.code == ErrorCode::kDeviceLost;
}

class BatchWindow {
 public:
  struct Finished {};
  using Next = std::variant<Batch, Error, Finished>;
  using Lock = std::unique_lock<std::mutex>;

  /// The farthest that batches may be ahead of the slowest taker, whatever set_depth() says.
  static constexpr std::uint64_t kRing = 64;
  /// Bad samples that are kept.
  static constexpr std::size_t kMostBadSamples = 10'000;
  /// For how long a taker without memory waits for what other loaders may release, before that is an error.
  static constexpr std::uint64_t kMemoryPatienceNs = 10'000'000'000;

  /// What a batch is to hold.
  struct Content {
    std::uint32_t rows = 0;
    std::uint64_t position = 0;  // Batch::position
  };
  /// One pass, and what the runner does for the window.
  struct Pass {
    std::uint32_t epoch = 0;
    std::uint64_t steps = 0;
    std::uint64_t position = 0;  // that it begins at
    /// Asked once for each batch, with the mutex held.
    std::function<Content(std::uint64_t step)> content;
    /// Frees what memory the runner has in spare, with the mutex held.
    std::function<void()> free_memory;
    /// Batch ops on the first `rows` rows of a slot, without the mutex. Empty where there are none.
    std::function<void(std::byte* slot, std::uint64_t step, std::uint32_t rows)> complete;
  };

  /// Who gets the batches. Its members are the window's; one thread at a time takes with it.
  class Taker {
   public:
    /// The step that it takes next.
    std::uint64_t step() const noexcept { return step_; }

   private:
    friend class BatchWindow;
    std::uint64_t step_ = 0;
    std::uint64_t position_ = 0;
    bool asks_ = false;  // for its batch, which it does not have yet
  };

  /// @param arena   of slots as large as the plan's layout.
  /// @param metrics outlive the window; it counts batches, their samples, and failed samples.
  BatchWindow(std::shared_ptr<const Plan> plan, std::shared_ptr<SlotArena> arena, Pass pass, Metrics& metrics);
  ~BatchWindow();
  BatchWindow(const BatchWindow&) = delete;
  BatchWindow& operator=(const BatchWindow&) = delete;

  /// Guards all that is said to need it, and what a runner wants to change along with it.
  std::mutex& mutex() const noexcept { return mutex_; }

  // Filling. All but finish() with the mutex held.

  void set_depth(std::int32_t batches) noexcept { depth_ = static_cast<std::uint64_t>(batches); }
  std::uint64_t steps() const noexcept { return pass_.steps; }
  /// The batch that the slowest taker takes next.
  std::uint64_t front() const noexcept;
  /// Behind the last batch that may be opened now.
  std::uint64_t end() const noexcept;
  /// Whether rows of the batch can be filled: it is in the window, and has a slot. Where there is no memory for that of
  /// the front, it is tried once more with the runner's freed, and noted as a lack.
  bool open(std::uint64_t step);
  /// Of a batch that is open.
  std::byte* slot(std::uint64_t step) noexcept { return at(step).slot->data(); }
  Slot& lent(std::uint64_t step) noexcept { return *at(step).slot; }
  std::uint32_t rows(std::uint64_t step) const noexcept { return at(step).rows; }
  /// Notes that nothing can be done about the front batch for want of memory; open() forgets it.
  void lacks(Error error);
  /// Whether such a note stands.
  bool lacking() const noexcept { return lack_.has_value(); }
  /// Whether somebody waits for the batch.
  bool awaited(std::uint64_t step) const noexcept;

  /// Counts a bad sample, and keeps it among the first; without the mutex. An error where there is no memory for that.
  Status report(const Error& error) noexcept;
  /// `rows` rows of an open batch stand, or failed, which were reported. With the mutex held; the last rows complete
  /// the batch without it, so what else the mutex guards may have changed. True where takers wait for it: call notify()
  /// without the mutex.
  bool finish(Lock& lock, std::uint64_t step, std::uint32_t rows, std::span<FailedRow> failed) noexcept;
  void notify() noexcept { landed_.notify_all(); }

  // Taking. All with the mutex held.

  /// A new taker, which begins at the front. The window outlives it.
  Taker& join();
  /// It takes no more, and ceases to be; batches that only it was missing are released. Where it was the slowest,
  /// there is room again.
  void leave(Taker& taker) noexcept;
  /// It asks for its next batch, once or again; false where there is none.
  bool ask(Taker& taker) noexcept;
  bool landed(const Taker& taker) const noexcept { return taker.step_ < pass_.steps && at(taker.step_).landed(); }
  /// Waits until its batch has landed, or the time has passed; whether it has.
  bool wait(Lock& lock, const Taker& taker, std::uint64_t until_ns);
  /// The lack of memory, once it has stood for long enough to be an error.
  std::optional<Error> take_lack() noexcept;
  /// Its batch, which has landed, or what it is instead.
  Next take(Taker& taker);

  std::uint64_t position(const Taker& taker) const noexcept { return taker.position_; }
  /// Batches that have landed and wait for the slowest taker.
  std::uint32_t ready() const noexcept;
  const std::vector<Error>& bad_samples() const noexcept { return bad_; }
  std::vector<Error> take_bad_samples() noexcept { return std::exchange(bad_, {}); }

 private:
  /// One place of the ring.
  struct State {
    Slot* slot = nullptr;           // from its first row's start until it is first taken
    HeldSlot held;                  // from then until it was last taken
    std::uint32_t rows = 0;         // of this rank; once landed, those that are left
    std::uint32_t left = 0;         // rows that have not landed
    std::uint64_t position = 0;     // behind it
    std::vector<FailedRow> failed;  // cleared, never shrunk
    std::optional<Error> raised;    // what takers get in the batch's place

    bool open() const noexcept { return slot != nullptr || held; }
    bool landed() const noexcept { return open() && left == 0; }
    /// Of several errors the first stays.
    void raise(Error error) noexcept {
      if (!raised) raised = std::move(error);
    }
  };

  State& at(std::uint64_t step) noexcept { return ring_[step % kRing]; }
  const State& at(std::uint64_t step) const noexcept { return ring_[step % kRing]; }
  void complete(State& batch, std::uint64_t step);
  void let_go(State& batch) noexcept;

  const std::shared_ptr<const Plan> plan_;
  const std::shared_ptr<SlotArena> arena_;
  const Pass pass_;
  Metrics& metrics_;

  mutable std::mutex mutex_;  // guards all below
  std::condition_variable landed_;
  std::array<State, kRing> ring_;
  std::vector<std::unique_ptr<Taker>> takers_;
  std::uint64_t left_step_ = 0;  // the front where nobody takes
  std::uint64_t position_;       // of the pass, at the front
  std::uint64_t depth_ = 1;
  std::optional<Error> lack_;
  std::uint64_t lack_since_ns_ = 0;
  std::vector<Error> bad_;
};

}  // namespace drapps
