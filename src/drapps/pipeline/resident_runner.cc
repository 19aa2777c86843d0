#include "drapps/pipeline/resident_runner.h"

#include <algorithm>
#include <cstring>
#include <span>
#include <utility>

#include "drapps/base/caught.h"
#include "drapps/base/lane.h"
#include "drapps/source/array.h"

namespace drapps {
namespace {

using device::Augment;
using device::AugmentArguments;
using device::Gather;
using device::GatherArguments;
using device::KernelId;
using device::Where;

constexpr std::size_t kPartAlignment = 64;

std::size_t aligned(std::size_t bytes) noexcept {
  return (bytes + kPartAlignment - 1) / kPartAlignment * kPartAlignment;
}

}  // namespace

Result<std::unique_ptr<ResidentRunner>> ResidentRunner::make(const RunnerParts& parts) {
  std::unique_ptr<ResidentRunner> made(new ResidentRunner(parts));
  auto stream = made->residence_->device().stream();
  if (!stream.ok()) return std::move(stream).error();
  made->stream_ = *std::move(stream);
  return made;
}

ResidentRunner::ResidentRunner(const RunnerParts& parts)
    : WindowRunner(parts),
      residence_(parts.residence),
      list_(engine_.memory(MemoryUse::kWorkspaces)),
      scratch_(engine_.memory(MemoryUse::kWorkspaces)),
      workspace_(preparer_.new_workspace(engine_.memory(MemoryUse::kWorkspaces))) {
  window_.set_depth(parts.settings[KnobId::kPrefetchDepth]);
}

void ResidentRunner::apply(const Settings& settings) {
  const std::scoped_lock lock(mutex_);
  window_.set_depth(settings[KnobId::kPrefetchDepth]);
}

bool ResidentRunner::help(Lock& lock) {
  begin_batches(lock);
  if (pending_.empty()) return false;
  Pending front = std::move(pending_.front());
  pending_.pop_front();
  lock.unlock();
  if (!front.error) {
    if (Status made = works_[front.step % works_.size()].made->wait(); !made.ok())
      front.error = std::move(made).error();
  }
  std::vector<FailedRow> failed;
  if (front.error) failed.emplace_back(0, *std::move(front.error));
  lock.lock();
  window_.finish(lock, front.step, window_.rows(front.step), failed);
  return true;
}

void ResidentRunner::begin_batches(Lock& lock) {
  while (next_step_ < window_.end() && window_.open(next_step_)) {
    const std::uint64_t step = next_step_++;
    const std::uint32_t rows = window_.rows(step);
    std::byte* const slot = window_.place(step)->data();
    lock.unlock();
    const std::size_t place = lane_place(LaneRole::kPrepare);
    LaneTimer timer(place);
    Status begun = catching([&] { return begin(step, rows, slot); });
    metrics_.made.mark();
    const LaneTime spent = timer.end();
    metrics_[place].service_wall.record(spent.wall_ns / rows);
    metrics_[place].service_cpu.record(spent.cpu_ns / rows);
    lock.lock();
    std::optional<Error> error;
    if (!begun.ok()) error = std::move(begun).error();
    pending_.push_back({step, std::move(error)});
  }
}

Status ResidentRunner::begin(std::uint64_t step, std::uint32_t rows, std::byte* slot) {
  Work& work = works_[step % works_.size()];
  if (work.made == nullptr) {
    auto event = residence_->device().event();
    if (!event.ok()) return std::move(event).error();
    work.made = *std::move(event);
  }
  Status written = write(step, rows, slot, work);
  if (!written.ok()) return written;
  return stream_->record(*work.made);
}

Status ResidentRunner::room_for(Work& work, std::size_t bytes) {
  if (work.pinned.bytes() >= bytes) return ok_status();
  const std::size_t more = bytes + bytes / 4;
  work.pinned.reset();
  work.there.reset();
  auto pinned = residence_->device().allocate(Where::kPinned, more);
  if (!pinned.ok()) return std::move(pinned).error();
  auto there = residence_->device().allocate(Where::kDevice, more);
  if (!there.ok()) return std::move(there).error();
  work.pinned = *std::move(pinned);
  work.there = *std::move(there);
  return ok_status();
}

Status ResidentRunner::note_pictures(std::uint64_t first_position, std::uint32_t rows) {
  list_.clear();
  const auto& pictures = residence_->pictures();
  if (!pictures) return ok_status();
  for (std::uint32_t i = 0; i < rows; ++i) {
    trail_.clear();
    DRAPPS_RETURN_IF_ERROR(preparer_.note_moves(first_position + i, scratch_, trail_));
    DRAPPS_RETURN_IF_ERROR(list_.add(static_cast<std::int64_t>(rows_[i]) * pictures->picture_bytes, trail_));
  }
  return ok_status();
}

Status ResidentRunner::write(std::uint64_t step, std::uint32_t rows, std::byte* slot, Work& work) {
  records_.resize(rows);
  sampler_.indices(step, 0, records_);
  rows_ = records_;
  source_->rows()->to_rows(rows_);
  const Sampler::Batch batch = sampler_.batch(step);
  DRAPPS_RETURN_IF_ERROR(note_pictures(batch.first_position, rows));

  // Row numbers and the list of pictures go to the device's copy; the columns behind them into the batch.
  const std::vector<Column>& columns = plan_->layout.columns();
  const std::size_t list_at = aligned(rows * sizeof(std::uint64_t));
  std::size_t bytes = aligned(list_at + list_.bytes());
  const std::size_t columns_at = bytes;
  const std::optional<Residence::PictureColumn>& pictures = residence_->pictures();
  const auto by_host = [&](const ColumnGatherer& column) {
    return column.array == nullptr && !(pictures && pictures->column == column.column);
  };
  for (const ColumnGatherer& column : plan_->gatherers) {
    if (by_host(column)) bytes += aligned(columns[column.column].row_bytes * rows);
  }
  DRAPPS_RETURN_IF_ERROR(room_for(work, bytes));
  std::byte* const pinned = work.pinned.data();
  std::byte* const there = work.there.data();
  std::memcpy(pinned, rows_.data(), rows * sizeof(std::uint64_t));
  AugmentArguments augment;
  if (pictures) {
    augment = pictures->arguments;
    augment.out = reinterpret_cast<std::uint8_t*>(slot + columns[pictures->column].offset);
    list_.put(pinned + list_at, there + list_at, augment);
  }
  DRAPPS_RETURN_IF_ERROR(stream_->copy_in(there, pinned, list_at + list_.bytes()));
  if (pictures) {
    DRAPPS_RETURN_IF_ERROR(stream_->launch(KernelId::kAugment, Augment::blocks(augment, rows), &augment));
  }
  for (const Residence::GatherColumn& column : residence_->gathers()) {
    GatherArguments gather = column.arguments;
    gather.rows = reinterpret_cast<const std::int64_t*>(there);
    gather.count = rows;
    gather.out = reinterpret_cast<std::uint8_t*>(slot + columns[column.column].offset);
    DRAPPS_RETURN_IF_ERROR(stream_->launch(KernelId::kGather, Gather::blocks(gather), &gather));
  }
  const RowRun run{.records = records_,
                   .rows = rows_,
                   .first_position = batch.first_position,
                   .real = batch.rows - batch.padded,
                   .workspace = workspace_};
  std::byte* at = pinned + columns_at;
  for (const ColumnGatherer& column : plan_->gatherers) {
    if (!by_host(column)) continue;
    const std::size_t column_bytes = columns[column.column].row_bytes * rows;
    std::size_t next = 0;
    DRAPPS_RETURN_IF_ERROR(column.gather(run, next, at));
    DRAPPS_RETURN_IF_ERROR(stream_->copy_in(slot + columns[column.column].offset, at, column_bytes));
    at += aligned(column_bytes);
  }
  return ok_status();
}

}  // namespace drapps
