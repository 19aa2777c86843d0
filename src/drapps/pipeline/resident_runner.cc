#include "drapps/pipeline/resident_runner.h"

#include <algorithm>
#include <cstring>
#include <span>
#include <utility>

#include "drapps/base/caught.h"
#include "drapps/base/lane.h"
#include "drapps/device/aligned.h"
#include "drapps/device/mix_launch.h"
#include "drapps/pipeline/device_slot.h"
#include "drapps/source/array.h"

namespace drapps {
namespace {

using device::aligned;
using device::AugmentArguments;
using device::Gather;
using device::GatherArguments;
using device::KernelId;

// Batches whose lists the device may still read while the next one's is written.
constexpr std::size_t kMostWorks = 8, kLeastWorks = 2;

}  // namespace

Result<std::unique_ptr<ResidentRunner>> ResidentRunner::make(const RunnerParts& parts) {
  std::unique_ptr<ResidentRunner> runner(new ResidentRunner(parts));
  auto stream = device::MeteredStream::make(runner->residence_->device(), runner->metrics_.device);
  if (!stream.ok()) return std::move(stream).error();
  runner->stream_ = *std::move(stream);
  DRAPPS_RETURN_IF_ERROR(reserve_slots(*runner->arena_, *parts.residence->room(), runner->plan_->layout.bytes()));
  DRAPPS_RETURN_IF_ERROR(runner->reserve_works());
  return runner;
}

/// Memory for what the host writes, by what the first batch takes of it: for as many batches as the account has room
/// for, and at least two.
Status ResidentRunner::reserve_works() {
  while (works_.size() < kMostWorks) works_.push_back(std::make_unique<RunnerMemory>(residence_->room()));
  if (sampler_.steps() == 0) return ok_status();
  const auto places = note_batch(0, sampler_.batch(0).rows);
  if (!places.ok()) return ok_status();  // which the batch says in its turn
  for (std::size_t i = 0; i < works_.size(); ++i) {
    Status status = works_[i]->grow(*places);
    if (status.ok()) continue;
    if (status.error().code != ErrorCode::kResourceExhausted || i < kLeastWorks) return status;
    works_.resize(i);
  }
  return ok_status();
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
  PendingBatch front = std::move(pending_.front());
  pending_.pop_front();
  lock.unlock();
  static_cast<void>(stream_->pause());  // counts what the device has done
  if (!front.error) {
    // Its user waits for it, unless the device is lost.
    if (auto state = front.slot->completion->done(); !state.ok()) front.error = std::move(state).error();
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
    Slot& slot = *window_.place(step);
    lock.unlock();
    const std::size_t place = lane_place(LaneRole::kPrepare);
    LaneTimer timer(place);
    Status begun = catching([&] { return begin(step, rows, slot); });
    metrics_.first_sample.mark();
    const LaneTime spent = timer.end();
    metrics_[place].service_wall.record(spent.wall_ns / rows);
    metrics_[place].service_cpu.record(spent.cpu_ns / rows);
    lock.lock();
    std::optional<Error> error;
    if (!begun.ok()) error = std::move(begun).error();
    pending_.push_back({step, &slot, std::move(error)});
  }
}

Status ResidentRunner::begin(std::uint64_t step, std::uint32_t rows, Slot& slot) {
  RunnerMemory& work = *works_[step % works_.size()];
  DRAPPS_RETURN_IF_ERROR(ensure_event(residence_->device(), work.completion));
  DRAPPS_RETURN_IF_ERROR(work.completion->wait());  // of a batch that was begun some steps ago
  DRAPPS_RETURN_IF_ERROR(begin_fill(residence_->device(), *stream_, slot));
  Status written = write(step, rows, slot.data(), work);
  // Behind what was asked for before it failed, too.
  for (device::Event* const event : {work.completion.get(), slot.completion.get()}) {
    Status recorded = stream_->record(*event);
    if (written.ok()) written = std::move(recorded);
  }
  Status paused = stream_->pause();
  return written.ok() ? std::move(paused) : std::move(written);
}

Status ResidentRunner::RunnerMemory::grow(const RunnerPlaces& places) {
  DRAPPS_RETURN_IF_ERROR(pinned.grow(places.host_bytes));
  return there.grow(places.device_bytes);
}

Status ResidentRunner::note_pictures(std::uint64_t first_position, std::uint32_t rows) {
  list_.clear();
  const auto& pictures = residence_->pictures();
  if (!pictures) return ok_status();
  for (std::uint32_t i = 0; i < rows; ++i) {
    trail_.clear();
    DRAPPS_RETURN_IF_ERROR(preparer_.note_trail(first_position + i, scratch_, trail_));
    const PictureWriter& writer = *pictures->part.writer;
    DRAPPS_RETURN_IF_ERROR(list_.add(static_cast<std::int64_t>(rows_[i]) * pictures->picture_bytes,
                                     static_cast<std::int64_t>(i * writer.bytes()), trail_, writer.format().dtype));
  }
  return ok_status();
}

/// Draws which rows it has, and what is done with their pictures.
Result<ResidentRunner::RunnerPlaces> ResidentRunner::note_batch(std::uint64_t step, std::uint32_t rows) {
  records_.resize(rows);
  sampler_.indices(step, 0, records_);
  rows_ = records_;
  source_->rows()->to_rows(rows_);
  DRAPPS_RETURN_IF_ERROR(note_pictures(sampler_.batch(step).first_position, rows));
  RunnerPlaces places{};
  places.list = aligned(rows * sizeof(std::uint64_t));
  places.columns = aligned(places.list + list_.bytes());
  places.host_bytes = places.columns;
  for (const ColumnGatherer& column : plan_->gatherers) {
    if (by_host(column)) places.host_bytes += aligned(plan_->layout.columns()[column.column].row_bytes * rows);
  }
  places.device_bytes = places.list + list_.device_bytes();
  return places;
}

Status ResidentRunner::write(std::uint64_t step, std::uint32_t rows, std::byte* slot, RunnerMemory& work) {
  const auto places = note_batch(step, rows);
  if (!places.ok()) return places.error();
  DRAPPS_RETURN_IF_ERROR(work.grow(*places));
  const Sampler::BatchRows batch = sampler_.batch(step);
  // Row numbers and the list of pictures go to the device's copy; the columns behind them into the batch.
  std::byte* const pinned = work.pinned.data();
  std::byte* const there = work.there.data();
  std::memcpy(pinned, rows_.data(), rows * sizeof(std::uint64_t));
  const auto& pictures = residence_->pictures();
  AugmentArguments augment = pictures ? pictures->arguments : AugmentArguments{};
  list_.put(pinned + places->list, there + places->list, augment);
  const RowRun run{.records = records_,
                   .rows = rows_,
                   .first_position = batch.first_position,
                   .real = batch.rows - batch.padded,
                   .workspace = workspace_};
  DRAPPS_RETURN_IF_ERROR(stream_->copy_in(there, pinned, places->list + list_.bytes()));
  DRAPPS_RETURN_IF_ERROR(copy_columns(run, slot, pinned + places->columns));
  DRAPPS_RETURN_IF_ERROR(launch(rows, slot, there, augment));
  return mix(step, rows, slot);
}

/// Whether the host fills the column.
bool ResidentRunner::by_host(const ColumnGatherer& column) const noexcept {
  const auto& pictures = residence_->pictures();
  return column.array == nullptr && !(pictures && pictures->part.column == column.column);
}

Status ResidentRunner::copy_columns(const RowRun& run, std::byte* slot, std::byte* at) {
  for (const ColumnGatherer& column : plan_->gatherers) {
    if (!by_host(column)) continue;
    const Column& filled = plan_->layout.columns()[column.column];
    const std::size_t bytes = filled.row_bytes * run.rows.size();
    std::size_t next = 0;
    DRAPPS_RETURN_IF_ERROR(column.gather(run, next, at));
    DRAPPS_RETURN_IF_ERROR(stream_->copy_in(slot + filled.offset, at, bytes));
    at += aligned(bytes);
  }
  return ok_status();
}

Status ResidentRunner::launch(std::uint32_t rows, std::byte* slot, const std::byte* there, AugmentArguments& augment) {
  const std::vector<Column>& columns = plan_->layout.columns();
  if (const auto& pictures = residence_->pictures()) {
    augment.out = reinterpret_cast<std::uint8_t*>(slot + columns[pictures->part.column].offset);
    DRAPPS_RETURN_IF_ERROR(list_.launch(*stream_, augment));
  }
  for (const Residence::GatherColumn& column : residence_->gathers()) {
    GatherArguments gather = column.arguments;
    gather.rows = reinterpret_cast<const std::int64_t*>(there);
    gather.count = rows;
    gather.out = reinterpret_cast<std::uint8_t*>(slot + columns[column.column].offset);
    DRAPPS_RETURN_IF_ERROR(stream_->launch(KernelId::kGather, Gather::blocks(gather), &gather));
  }
  return ok_status();
}

Status ResidentRunner::mix(std::uint64_t step, std::uint32_t rows, std::byte* slot) {
  const auto& pictures = residence_->pictures();
  const auto& labels = plan_->first_label;
  if (!pictures || pictures->part.mixer == nullptr || !labels) return ok_status();
  const auto& [column, writer, mixer, draws] = pictures->part;
  const std::vector<Column>& columns = plan_->layout.columns();
  return device::launch_mix(*stream_,
                            {.pictures = slot + columns[column].offset,
                             .labels = slot + columns[labels->column].offset,
                             .rows = rows,
                             .classes = mixer->classes()},
                            *writer, mixer->draw(preparer_.batch_draws(step)[draws]));
}

}  // namespace drapps
