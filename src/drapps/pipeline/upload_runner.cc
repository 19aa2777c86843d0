#include "drapps/pipeline/upload_runner.h"

#include <cstring>
#include <utility>

#include "drapps/base/caught.h"
#include "drapps/device/mix_launch.h"
#include "drapps/pipeline/device_slot.h"

namespace drapps {

UploadRunner::UploadRunner(const RunnerParts& parts, std::shared_ptr<SlotArena> arena)
    : plan_(parts.plan),
      upload_(parts.upload),
      sampler_(parts.sampler),
      preparer_(plan_, parts.source, sampler_, parts.seed, nullptr),
      arena_(std::move(arena)),
      ahead_(parts.ahead ? kAhead : 0),
      list_(parts.engine.memory(MemoryUse::kWorkspaces)) {
  for (std::size_t i = 0; i < kAhead + 2; ++i) works_.push_back(std::make_unique<UploadMemory>(upload_->room()));
}

Result<std::unique_ptr<UploadRunner>> UploadRunner::make(const RunnerParts& parts) {
  auto arena = SlotArena::make_on(parts.upload->room(), parts.plan->layout.bytes());
  if (!arena.ok()) return std::move(arena).error();
  std::unique_ptr<UploadRunner> runner(new UploadRunner(parts, *std::move(arena)));
  DRAPPS_RETURN_IF_ERROR(reserve_slots(*runner->arena_, *parts.upload->room(), runner->plan_->layout.bytes()));
  RunnerParts carrying = parts;
  carrying.plan = parts.upload->plan();
  carrying.upload = nullptr;
  if (carrying.arena == nullptr) {
    carrying.arena = SlotArena::make_pinned(parts.upload->room()->device, carrying.plan->layout.bytes(),
                                            parts.engine.memory(MemoryUse::kBatches));
  }
  auto carrier = make_runner(std::move(carrying));
  if (!carrier.ok()) return std::move(carrier).error();
  runner->carrier_ = *std::move(carrier);
  runner->position_ = runner->carrier_->position();
  auto stream = device::MeteredStream::make(parts.upload->device(), runner->device_counters());
  if (!stream.ok()) return std::move(stream).error();
  runner->stream_ = *std::move(stream);
  return runner;
}

UploadRunner::~UploadRunner() {
  stream_.reset();
  for (const UploadedBatch& batch : uploaded_) {
    if (batch.slot != nullptr) arena_->abandon(batch.slot);
  }
  arena_->retire();
}

std::optional<Runner::Next> UploadRunner::next(std::chrono::milliseconds patience) {
  forget_carried();
  begin_ahead();
  if (uploaded_.empty()) {
    bool finished = false;
    if (!landed_ && !take(patience, finished)) return finished ? std::optional<Next>(Finished{}) : std::nullopt;
    if (landed_) {
      if (Status begun = begin_landed(); !begun.ok()) return std::move(begun).error();
    }
    begin_ahead();
  }
  UploadedBatch front = std::move(uploaded_.front());
  uploaded_.pop_front();
  count();
  position_ = front.position;
  static_cast<void>(stream_->pause());  // counts what the device has done
  if (!front.error) {
    // Its user waits for it, unless the device is lost.
    if (auto state = front.slot->completion->done(); !state.ok()) front.error = std::move(state).error();
  }
  if (front.error) {
    if (front.slot != nullptr) arena_->abandon(front.slot);
    return *std::move(front.error);
  }
  return Batch{.slot = arena_->yield(front.slot),
               .plan = plan_,
               .rows = front.rows,
               .step = front.step,
               .position = front.position};
}

/// The carrier's next batch, or the error in its place. False where there is none yet, or, with `finished`, any more.
bool UploadRunner::take(std::chrono::milliseconds patience, bool& finished) {
  auto next = carrier_->next(patience);
  finished = next && std::holds_alternative<Finished>(*next);
  if (!next || finished) return false;
  if (auto* error = std::get_if<Error>(&*next)) {
    uploaded_.push_back({.position = carrier_->position(), .error = std::move(*error)});
  } else {
    landed_ = std::get<Batch>(*std::move(next));
  }
  count();
  return true;
}

/// The batch that has landed goes to the device. An error where there is no memory: it stays.
Status UploadRunner::begin_landed() {
  const auto exhausted_by = [](const Error& error) { return error.code == ErrorCode::kResourceExhausted; };
  UploadedBatch begun{.rows = landed_->rows, .step = landed_->step, .position = landed_->position};
  auto slot = arena_->acquire();
  if (slot.ok()) {
    begun.slot = *slot;
    Status status = catching([&] { return begin(*landed_, **slot); });
    if (!status.ok()) begun.error = std::move(status).error();
  } else {
    begun.error = std::move(slot).error();
  }
  if (begun.error && exhausted_by(*begun.error)) {
    if (begun.slot != nullptr) arena_->abandon(begun.slot);
    return *std::move(begun.error);
  }
  landed_.reset();
  uploaded_.push_back(std::move(begun));
  count();
  return ok_status();
}

/// What has landed goes there before its turn, as far as there is memory.
void UploadRunner::begin_ahead() {
  bool finished = false;
  while (uploaded_.size() <= ahead_ && !finished) {
    if (!landed_ && (!carrier_->ready() || !take(std::chrono::milliseconds(0), finished))) return;
    if (landed_ && !begin_landed().ok()) return;
  }
}

/// Lets go of what has been copied.
void UploadRunner::forget_carried() noexcept {
  for (const auto& work : works_) {
    if (!work->carried) continue;
    // A device that is lost reads nothing that is still of use.
    if (auto done = work->copied->done(); !done.ok() || *done) work->carried = {};
  }
}

Status UploadRunner::begin(const Batch& batch, Slot& slot) {
  UploadMemory& work = *works_[next_work_ % works_.size()];
  DRAPPS_RETURN_IF_ERROR(ensure_event(upload_->device(), work.copied));
  DRAPPS_RETURN_IF_ERROR(work.copied->wait());  // of a batch that was begun some steps ago
  DRAPPS_RETURN_IF_ERROR(begin_fill(upload_->device(), *stream_, slot));
  ++next_work_;
  work.carried = batch.slot;
  Status copied = copy(batch, slot.data(), work);
  // Behind what was asked for before it failed, too.
  for (device::Event* const event : {work.copied.get(), slot.completion.get()}) {
    Status recorded = stream_->record(*event);
    if (copied.ok()) copied = std::move(recorded);
  }
  Status paused = stream_->pause();
  return copied.ok() ? std::move(paused) : std::move(copied);
}

/// Which pictures there are, and what is erased of them; those that lie on the host are copied, neighbours by one copy.
Status UploadRunner::list_pictures(const Batch& batch, UploadMemory& work) {
  list_.clear();
  const Plan& carried = *upload_->plan();
  const Column& column = carried.layout.columns()[upload_->part().finished.column];
  const PictureWriter& writer = *upload_->part().finished.writer;
  DRAPPS_RETURN_IF_ERROR(work.pictures.grow(column.row_bytes * batch.rows));
  std::byte* const first = work.pictures.data();
  const auto copy = [&](std::uint32_t begin, std::uint32_t end) {
    const std::size_t at = column.row_bytes * begin;
    return begin == end
               ? ok_status()
               : stream_->copy_in(first + at, batch.slot.data() + column.offset + at, column.row_bytes * (end - begin));
  };
  std::uint32_t begin = 0;  // of rows on the host that are not copied yet
  for (std::uint32_t row = 0; row < batch.rows; ++row) {
    trail_.clear();
    if (upload_->part().erasures > 0) {
      read_erasures(carried.layout.row(batch.slot.data(), carried.layout.columns().size() - 1, row), trail_.erasures);
    }
    std::int64_t address = 0;
    if (carried.rows_there) {
      std::memcpy(&address, carried.layout.row(batch.slot.data(), carried.rows_there->addresses, row), sizeof address);
    }
    if (address != 0) DRAPPS_RETURN_IF_ERROR(copy(std::exchange(begin, row + 1), row));
    const auto picture = address == 0 ? static_cast<std::int64_t>(column.row_bytes * row)
                                      : address - reinterpret_cast<std::intptr_t>(first);
    DRAPPS_RETURN_IF_ERROR(
        list_.add(picture, static_cast<std::int64_t>(writer.bytes() * row), trail_, writer.format().dtype));
  }
  return copy(begin, batch.rows);
}

Status UploadRunner::copy(const Batch& batch, std::byte* slot, UploadMemory& work) {
  if (batch.rows == 0) return ok_status();
  DRAPPS_RETURN_IF_ERROR(list_pictures(batch, work));
  DRAPPS_RETURN_IF_ERROR(work.pinned.grow(list_.bytes()));
  DRAPPS_RETURN_IF_ERROR(work.lists.grow(list_.device_bytes()));
  device::AugmentArguments arguments = upload_->arguments();
  list_.put(work.pinned.data(), work.lists.data(), arguments);
  DRAPPS_RETURN_IF_ERROR(stream_->copy_in(work.lists.data(), work.pinned.data(), list_.bytes()));
  const std::vector<Column>& carried = upload_->plan()->layout.columns();
  const std::vector<Column>& finished = plan_->layout.columns();
  const std::size_t image = upload_->part().finished.column;
  for (std::size_t i = 0; i < finished.size(); ++i) {
    if (i == image) continue;
    DRAPPS_RETURN_IF_ERROR(stream_->copy_in(slot + finished[i].offset, batch.slot.data() + carried[i].offset,
                                            carried[i].row_bytes * batch.rows));
  }
  arguments.pictures = reinterpret_cast<const std::uint8_t*>(work.pictures.data());
  arguments.out = reinterpret_cast<std::uint8_t*>(slot + finished[image].offset);
  DRAPPS_RETURN_IF_ERROR(list_.launch(*stream_, arguments));
  return mix(batch, slot);
}

Status UploadRunner::mix(const Batch& batch, std::byte* slot) {
  const auto& [column, writer, mixer, draws] = upload_->part().finished;
  const auto& labels = plan_->first_label;
  if (mixer == nullptr || !labels) return ok_status();
  const std::vector<Column>& columns = plan_->layout.columns();
  return device::launch_mix(*stream_,
                            {.pictures = slot + columns[column].offset,
                             .labels = slot + columns[labels->column].offset,
                             .rows = batch.rows,
                             .classes = mixer->classes()},
                            *writer, mixer->draw(preparer_.batch_draws(batch.step)[draws]));
}

}  // namespace drapps
