// Runs a plan over rows of arrays: the executor for samples that cost less than their scheduling would.
//
// 1. Work is handed out in runs of neighbouring rows of a batch, some 100 KiB each, so that what a run costs beside
//    its rows does not show. A small batch is one run; a large one is shared out among the workers.
// 2. The columns of a run are gathered one after another, straight from the user's memory into the slot. Pictures that
//    no op touches go through the table of their 256 numbers on the way; others run through the ops, row by row.
// 3. The consumer is a worker too: where the batch it asks for is not there, it takes runs of it itself. A batch of
//    some tens of microseconds is made sooner than a thread is woken.
// 4. Read ahead or not: with `ahead`, workers fill up to prefetch_depth batches before they are asked for. Without, a
//    batch is begun when it is asked for, and shows what the arrays hold at that moment.
//
// Which rows, and their content, depend on none of this.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "drapps/exec/worker_group.h"
#include "drapps/pipeline/engine.h"
#include "drapps/pipeline/prepare.h"
#include "drapps/pipeline/runner.h"
#include "drapps/source/array.h"
#include "drapps/source/sampler.h"

namespace drapps {

class Gatherer final : public Runner, public WorkerClient {
 public:
  /// Everything given is kept alive as long as needed. Requires source->arrays().
  /// @param seed   of the ops, beside the order's.
  /// @param arena  of slots as large as the plan's layout.
  static Result<std::unique_ptr<Gatherer>> make(std::shared_ptr<const Plan> plan, std::shared_ptr<Source> source,
                                                Sampler sampler, std::uint64_t seed, bool ahead,
                                                const Settings& settings, Engine& engine,
                                                std::shared_ptr<SlotArena> arena);
  ~Gatherer() override;

  std::optional<Next> next(std::chrono::milliseconds patience) override;
  void apply(const Settings& settings) override;
  const Metrics& metrics() const noexcept override { return metrics_; }
  const Plan& plan() const noexcept override { return *plan_; }
  std::shared_ptr<SlotArena> arena() const noexcept override { return arena_; }
  std::uint32_t ready_batches() const override;
  bool ready() const override;
  std::uint64_t position() const override;
  std::uint64_t left() const override;
  std::vector<Error> bad_samples() const override;
  std::vector<Error> take_bad_samples() noexcept override;

  bool run_one() noexcept override;
  bool release_idle() noexcept override;

 private:
  /// Neighbouring rows of one batch.
  struct Run {
    std::uint64_t step = 0;
    std::uint32_t first = 0;
    std::uint32_t rows = 0;
    std::byte* slot = nullptr;  // null: there is nothing to do
  };
  /// What one thread works with; lent out for a run.
  struct Hand {
    explicit Hand(MemoryLedger& ledger) : task(ledger), workspace(ledger) { task.workspace = &workspace; }
    SampleTask task;
    Workspace workspace;
    std::vector<std::uint64_t> records;
    std::vector<std::uint64_t> rows;  // of the arrays
    std::vector<std::pair<std::uint32_t, Error>> failed;
    std::optional<Error> raised;  // of the whole run
  };

  Gatherer(std::shared_ptr<const Plan> plan, std::shared_ptr<Source> source, Sampler sampler, std::uint64_t seed,
           bool ahead, const Settings& settings, Engine& engine, std::shared_ptr<SlotArena> arena);

  // All require mutex_.
  Run take(std::uint64_t before_step);
  bool open(std::uint64_t step);
  bool ready_hand();
  std::uint64_t horizon() const;
  std::unique_ptr<Hand> borrow() noexcept;
  void give_back(const Run& run, std::unique_ptr<Hand> hand) noexcept;
  Next deliver();

  // None holds mutex_ on entry.
  void work(const Run& run, Hand& hand) noexcept;
  void gather(const Run& run, Hand& hand);
  void write_origin(const Run& run, const Hand& hand) const;
  void convert_pictures(const Run& run, Hand& hand);
  void augment_pictures(const Run& run, Hand& hand);
  Status augment_picture(const Run& run, Hand& hand);

  BatchState& batch_of(std::uint64_t step) noexcept { return ring_[step % kRing]; }
  const BatchState& batch_of(std::uint64_t step) const noexcept { return ring_[step % kRing]; }

  static constexpr std::uint64_t kRing = 64;

  const std::shared_ptr<const Plan> plan_;
  const std::shared_ptr<Source> source_;
  const ArraySource& arrays_;
  const Sampler sampler_;
  Engine& engine_;
  const std::shared_ptr<SlotArena> arena_;
  const Preparer preparer_;
  const bool ahead_;
  const std::uint32_t grain_;  // rows of a run
  const bool shared_;          // with the workers; else the consumer does all
  Metrics metrics_;

  mutable std::mutex mutex_;  // guards all below
  std::condition_variable landed_;
  Settings settings_;
  bool stopping_ = false;
  std::uint64_t deliver_step_ = 0;  // the batch that the consumer takes next
  std::uint64_t fetch_step_ = 0;    // the row that is handed out next
  std::uint32_t fetch_row_ = 0;
  std::vector<BatchState> ring_;
  std::vector<std::unique_ptr<Hand>> hands_;  // not lent out
  std::size_t made_hands_ = 0;                // ever; hands_ has room for all
  std::optional<Error> no_slot_;              // why the front batch has no memory, or nobody can work at it
  std::uint64_t no_slot_since_ns_ = 0;
  std::uint64_t asked_ns_ = 0;  // when the consumer asked for the front batch, 0 while it does not wait
  std::uint64_t last_asked_ns_ = 0;
  std::uint64_t position_;
  std::vector<Error> bad_;
};

}  // namespace drapps
