// Runs a plan over rows of arrays: the executor for samples that cost less than their scheduling would.
//
// 1. Work is handed out in runs of neighbouring rows of a batch, some 100 KiB each, so that what a run costs beside
//    its rows does not show. A small batch is one run; a large one is shared out among the workers.
// 2. The columns of a run are gathered one after another, straight from the user's memory into the slot. What ops work
//    on goes through them row by row.
// 3. The consumer is a worker too: where the batch it asks for is not there, it takes runs of it itself. A batch of
//    some tens of microseconds is made sooner than a thread is woken.
// 4. Read ahead or not: with `ahead`, workers fill up to prefetch_depth batches before they are asked for. Without, a
//    batch is begun when it is asked for, and shows what the arrays hold at that moment.
//
// Which rows, and their content, depend on none of this.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "drapps/pipeline/window_runner.h"
#include "drapps/source/sampler.h"

namespace drapps {

class Gatherer final : public WindowRunner {
 public:
  /// Requires parts.arena and parts.source->rows().
  static Result<std::unique_ptr<Gatherer>> make(const RunnerParts& parts);
  ~Gatherer() override;

  void apply(const Settings& settings) override;
  WorkFound run_one() noexcept override;

 private:
  /// What one thread works with; lent out for a run.
  struct GatherScratch {
    GatherScratch(MemoryLedger& ledger, Workspace&& space) : task(ledger), workspace(std::move(space)) {}
    SampleTask task;
    Workspace workspace;
    std::vector<std::uint64_t> records;
    std::vector<std::uint64_t> rows;  // of the arrays
    std::vector<FailedRow> failed;
  };
  /// Neighbouring rows of one batch, and who makes them.
  struct GatherRun {
    std::uint64_t step = 0;
    std::uint32_t first = 0;
    std::uint32_t rows = 0;
    std::byte* slot = nullptr;
    std::unique_ptr<GatherScratch> scratch;  // null: there is nothing to do
  };

  explicit Gatherer(const RunnerParts& parts);

  bool help(Lock& lock) override;
  void free_memory() noexcept override;
  void taken(Lock& lock) override;

  // take(), ready_scratch() and horizon() require mutex_.
  GatherRun take(std::uint64_t before_step);
  bool ready_scratch();
  std::uint64_t horizon() const;

  // None holds mutex_ on entry.
  bool work(Lock& lock, GatherRun run) noexcept;
  void gather(const GatherRun& run, GatherScratch& scratch);
  void gather_column(const ColumnGatherer& column, const GatherRun& run, const RowRun& rows, GatherScratch& scratch);
  void prepare_rows(const GatherRun& run, const RowRun& rows, GatherScratch& scratch);
  template <class Make>
  Status with_memory(GatherScratch& scratch, const Make& make);
  bool stopping();
  void log(const GatherRun& run, const LaneTime& spent) noexcept;
  void fail(const GatherRun& run, GatherScratch& scratch, std::size_t row, Error error);

  const bool ahead_;
  const std::uint32_t grain_;  // rows of a run
  const bool shared_;          // with the workers; else the consumer does all

  // The mutex guards all below.
  bool stopping_ = false;
  std::uint64_t fetch_step_ = 0;  // the row that is handed out next
  std::uint32_t fetch_row_ = 0;
  std::vector<std::unique_ptr<GatherScratch>> scratches_;  // not lent out
  std::size_t scratches_made_ = 0;                         // ever; scratches_ has room for all
  bool called_ = false;  // whether workers were woken for the batch that is waited for
};

}  // namespace drapps
