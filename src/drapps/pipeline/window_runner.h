// What runners share: the pass on a window, one taker who waits, and the workers' help.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "drapps/exec/worker_group.h"
#include "drapps/pipeline/batch_window.h"
#include "drapps/pipeline/engine.h"
#include "drapps/pipeline/prepare.h"
#include "drapps/pipeline/runner.h"
#include "drapps/source/sampler.h"

namespace drapps {

class WindowRunner : public Runner, public WorkerClient {
  Engine::Ending ending_;  // the first member: behind it all memory of the runner has been released

 public:
  std::optional<Next> next(std::chrono::milliseconds patience) final;
  const Metrics& metrics() const noexcept final { return metrics_; }
  device::DeviceCounters& device_counters() noexcept final { return metrics_.device; }
  const Plan& plan() const noexcept final { return *plan_; }
  std::shared_ptr<SlotArena> arena() const noexcept final { return arena_; }
  std::uint32_t ready_batches() const final;
  bool ready() const final;
  Upcoming upcoming() const final;
  std::uint64_t position() const final;
  std::uint64_t left() const final;
  std::vector<Error> bad_samples() const final;
  std::vector<Error> take_bad_samples() noexcept final;
  bool release_idle() noexcept final;

 protected:
  using Lock = BatchWindow::Lock;

  /// Requires parts.arena.
  explicit WindowRunner(RunnerParts parts);

  /// The taker's thread does a part of the work itself; false where there is none for it. With the mutex held, on
  /// return too.
  virtual bool help(Lock&) { return false; }
  /// The taker has waited, and its batch has not landed: what waits for memory may try again. With the mutex held.
  virtual void retry() {}
  /// Frees what memory is kept for items to come. With the mutex held.
  virtual void free_memory() noexcept = 0;
  /// Returns when no worker is in the runner any more, nor will be. Its memory counts as about to come back from here
  /// on.
  void leave_workers() noexcept;
  /// A batch was taken: workers are woken for what can begin now. With the mutex held, which it releases.
  virtual void taken(Lock& lock) = 0;

  const std::shared_ptr<const Plan> plan_;
  const std::shared_ptr<Source> source_;
  const Sampler sampler_;
  const std::shared_ptr<LearnedStore> learned_;
  const std::shared_ptr<cache::Keeper> keeper_;
  const Preparer preparer_;
  Engine& engine_;
  const std::shared_ptr<SlotArena> arena_;
  Metrics metrics_;
  BatchWindow window_;
  std::mutex& mutex_ = window_.mutex();  // guards what runners change, too
  BatchWindow::Taker& taker_;

 private:
  BatchWindow::WindowPass pass();
  SlotPayload::BatchOps batch_ops();
};

}  // namespace drapps
