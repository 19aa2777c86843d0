// The filling half of the gatherer: from rows of arrays to rows of a slot.
#include <chrono>
#include <thread>

#include "drapps/base/clock.h"
#include "drapps/pipeline/gatherer.h"
#include "drapps/source/array.h"
#include "drapps/storage/read_file.h"

namespace drapps {

void Gatherer::gather(const GatherRun& run, GatherScratch& scratch) {
  scratch.records.resize(run.rows);
  sampler_.indices(run.step, run.first, scratch.records);
  scratch.rows = scratch.records;
  source_->rows()->to_rows(scratch.rows);
  const Sampler::BatchRows batch = sampler_.batch(run.step);
  const std::uint32_t real = batch.rows - batch.padded;
  const RowRun rows{.records = scratch.records,
                    .rows = scratch.rows,
                    .first_position = batch.first_position + run.first,
                    .real = real > run.first ? real - run.first : 0,
                    .workspace = scratch.workspace};
  for (const ColumnGatherer& column : plan_->gatherers) gather_column(column, run, rows, scratch);
  if (!plan_->writers.empty()) prepare_rows(run, rows, scratch);
}

void Gatherer::gather_column(const ColumnGatherer& column, const GatherRun& run, const RowRun& rows,
                             GatherScratch& scratch) {
  std::byte* const first = plan_->layout.row(run.slot, column.column, run.first);
  for (std::size_t next = 0; next < run.rows; ++next) {
    Status status = with_memory(scratch, [&] { return column.gather(rows, next, first); });
    if (!status.ok()) fail(run, scratch, next, std::move(status).error());
  }
}

/// What has writers, row by row.
void Gatherer::prepare_rows(const GatherRun& run, const RowRun& rows, GatherScratch& scratch) {
  SampleTask& task = scratch.task;
  Sample& sample = task.sample;
  sample.source = source_.get();
  sample.workspace = &scratch.workspace;
  const auto prepare = [&]() -> Status {
    task.read.at[kFirstPart] = source_->locate(sample.asked.record, kFirstPart);
    DRAPPS_RETURN_IF_ERROR(answer_from_memory(task.read, kFirstPart));
    return preparer_.prepare(task);
  };
  for (std::size_t i = 0; i < run.rows; ++i) {
    const std::uint64_t record = scratch.records[i];
    task.begin(
        {.row = {.position = rows.first_position + i, .index = record, .padded = i >= rows.real}, .record = record},
        {.step = run.step, .row = run.first + static_cast<std::uint32_t>(i), .slot = run.slot}, false);
    Status status = with_memory(scratch, prepare);
    if (!status.ok()) fail(run, scratch, i, std::move(status).error());
  }
}

/// Calls `make` again as long as it finds no memory, and that of others within the same budget may come back.
template <class Make>
Status Gatherer::with_memory(GatherScratch& scratch, const Make& make) {
  Status status = make();
  const std::uint64_t until = exhausted(status) ? monotonic_ns() + BatchWindow::kMemoryPatienceNs : 0;
  for (bool waits = exhausted(status); waits;) {
    scratch.workspace.reset();
    // Asked before, because what has memory now may have ended and released it by the time that this is known to fail.
    waits = engine_.workers().release_idle(*this) || engine_.ending();
    status = make();
    waits = waits && exhausted(status) && monotonic_ns() < until && !stopping();
    if (waits) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return status;
}

bool Gatherer::stopping() {
  const std::scoped_lock lock(mutex_);
  return stopping_;
}

void Gatherer::fail(const GatherRun& run, GatherScratch& scratch, std::size_t row, Error error) {
  if (error.path.empty()) error.path = source_->name(scratch.records[row]);
  error.index = static_cast<std::int64_t>(scratch.records[row]);
  scratch.failed.emplace_back(run.first + static_cast<std::uint32_t>(row), std::move(error));
}

}  // namespace drapps
