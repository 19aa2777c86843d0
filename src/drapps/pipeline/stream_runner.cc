#include "drapps/pipeline/stream_runner.h"

#include <algorithm>
#include <optional>
#include <span>
#include <utility>

#include "drapps/base/caught.h"
#include "drapps/modality/columns.h"

namespace drapps {

Result<std::unique_ptr<StreamRunner>> StreamRunner::make(const RunnerParts& parts) {
  std::unique_ptr<StreamRunner> runner(new StreamRunner(parts));
  DRAPPS_RETURN_IF_ERROR(parts.engine.workers().attach(*runner, parts.settings[KnobId::kWorkers]));
  return runner;
}

StreamRunner::StreamRunner(const RunnerParts& parts)
    : WindowRunner(parts),
      reads_(source_->storage(), parts.kept, engine_.memory(MemoryUse::kWorkspaces), parts.settings[KnobId::kIoDepth]),
      streams_(*plan_->streams),
      deal_(streams_.deal()),
      order_{plan_->spec.sampler.shuffle, sampler_.coordinate(0).seed, sampler_.epoch(), preparer_.coordinate(0)},
      start_(sampler_.start_position()),
      batch_(plan_->spec.sampler.batch),
      world_(static_cast<std::uint64_t>(plan_->spec.sampler.world)),
      index_column_(plan_->layout.find("index")),
      position_column_(plan_->layout.find("position")),
      flags_column_(plan_->layout.find("flags")),
      idle_(Later{own_}) {
  window_.set_depth(parts.settings[KnobId::kPrefetchDepth]);
  for (std::uint32_t stream = 0; stream < deal_.streams(); ++stream) {
    const std::uint64_t before = deal_.rows_before(stream, start_);
    const bool known =
        stream < parts.cursors.size() && parts.cursors[stream].known() && parts.cursors[stream].row <= before;
    OwnStream own{.stream = stream, .first = known ? parts.cursors[stream] : StreamCursor{}};
    if (seek(own, before)) own_.push_back(std::move(own));
  }
  std::ranges::sort(own_, {}, &OwnStream::row);
  for (std::size_t i = 0; i < own_.size(); ++i) idle_.push(i);
}

StreamRunner::~StreamRunner() {
  {
    const std::scoped_lock lock(mutex_);
    stopping_ = true;
  }
  leave_workers();
}

bool StreamRunner::seek(OwnStream& own, std::uint64_t of_stream) const noexcept {
  const auto rank = static_cast<std::uint64_t>(plan_->spec.sampler.rank);
  const std::uint64_t behind = of_stream + deal_.period(own.stream, world_);
  for (; of_stream < behind; ++of_stream) {
    own.row = deal_.row(own.stream, of_stream);
    own.of_stream = of_stream;
    if ((own.row - start_) % world_ == rank) return true;
  }
  return false;
}

void StreamRunner::apply(const Settings& settings) {
  {
    const std::scoped_lock lock(mutex_);
    window_.set_depth(settings[KnobId::kPrefetchDepth]);
  }
  reads_.set_depth(settings[KnobId::kIoDepth]);
  engine_.workers().set_share(*this, settings[KnobId::kWorkers]);
}

void StreamRunner::taken(Lock& lock) {
  const std::uint64_t position = window_.position(taker_);
  const std::uint64_t since = position - std::min(position - start_, kRemembered * batch_ * world_);
  for (OwnStream& own : own_) {
    const std::uint64_t row = deal_.rows_before(own.stream, since);
    while (own.cursors.size() > 1 && own.cursors[1].row <= row) own.cursors.pop_front();
  }
  lock.unlock();
  engine_.workers().wake(batch_);
}

std::vector<StreamCursor> StreamRunner::cursors(std::uint64_t position) const {
  const std::scoped_lock lock(mutex_);
  std::vector<StreamCursor> known(deal_.streams());
  for (const OwnStream& own : own_) {
    StreamCursor& latest = known[own.stream] = own.first;
    const std::uint64_t row = deal_.rows_before(own.stream, position);
    for (const StreamCursor& each : own.cursors) {
      if (each.row <= row) latest = each;
    }
  }
  return known;
}

WorkFound StreamRunner::run_one() noexcept {
  Lock lock(mutex_);
  if (stopping_) return WorkFound::kNothing;
  if (idle_.empty()) return WorkFound::kWindow;
  const std::size_t chosen = idle_.top();
  OwnStream& own = own_[chosen];
  const std::uint64_t step = step_of(own.row);
  if (step >= window_.steps() || own.row >= source_->size()) return WorkFound::kNothing;
  if (step >= window_.end()) return WorkFound::kWindow;
  if (!window_.open(step)) return WorkFound::kMemory;
  if (const Status begun = catching([&] { return begin_row(chosen); }); !begun.ok()) {
    window_.lacks(begun.error());
    return WorkFound::kMemory;
  }
  std::byte* const slot = window_.place(step)->data();
  idle_.pop();
  lock.unlock();

  const std::size_t lane = lane_place(LaneRole::kTokenise);
  LaneTimer timer(lane);
  Status status = catching([&] { return make_row(own, slot); });
  const LaneTime spent = timer.end();
  if (exhausted(status)) {
    engine_.workers().release_idle(*this);
    lock.lock();
    if (step == window_.front()) window_.lacks(std::move(status).error());
    idle_.push(chosen);
    return WorkFound::kMemory;
  }
  if (own.at_end) return end_pass(lock, step);
  metrics_.first_sample.mark();
  metrics_[lane].service_wall.record(spent.wall_ns);
  metrics_[lane].service_cpu.record(spent.cpu_ns);
  std::optional<FailedRow> failed;
  if (!status.ok()) failed.emplace(place_of(own.row), std::move(status).error());
  lock.lock();
  // One that finds no memory is noted with a later row: whoever resumes begins a little before.
  static_cast<void>(catching([&] { return note_cursor(own); }));
  const bool landed = window_.finish(lock, step, 1, failed ? std::span(&*failed, 1) : std::span<FailedRow>());
  seek(own, own.of_stream + 1);
  idle_.push(chosen);
  lock.unlock();
  if (landed) window_.notify();
  return WorkFound::kWork;
}

/// The stream has no row for this step, and is not worked on any more.
WorkFound StreamRunner::end_pass(Lock& lock, std::uint64_t step) {
  lock.lock();
  window_.end_at(step);
  lock.unlock();
  window_.notify();
  return WorkFound::kWork;
}

void StreamRunner::open(OwnStream& own) {
  own.rows = streams_.open(own.stream, order_, own.first, &reads_, engine_.memory(MemoryUse::kWorkspaces));
}

/// With the mutex held, of a stream that nobody works on.
Status StreamRunner::begin_row(std::size_t chosen) {
  OwnStream& own = own_[chosen];
  if (own.rows == nullptr) {
    open(own);
    const std::size_t behind = std::min(own_.size(), chosen + 1 + reads_.ahead());
    for (std::size_t i = chosen + 1; i < behind; ++i) {
      if (own_[i].rows == nullptr) open(own_[i]);
    }
  }
  // A row that found no memory is begun again, perhaps farther on.
  return note_cursor(own);
}

/// Notes where the stream stands, as soon as it stands there: what is taken may be saved at once.
Status StreamRunner::note_cursor(OwnStream& own) {
  const StreamCursor at = own.rows->cursor();
  if (own.cursors.empty() || own.cursors.back().row < at.row) own.cursors.push_back(at);
  return ok_status();
}

Status StreamRunner::make_row(OwnStream& own, std::byte* slot) {
  while (!own.rows->ended() && own.rows->cursor().row < own.of_stream) {
    const std::uint64_t passed = own.rows->cursor().row;
    Status status = own.rows->next(nullptr, 0);
    // What is bad of a row that is another rank's, or was taken before, is nothing to this one.
    if (!status.ok() && own.rows->cursor().row == passed) return status;
    own.rows->take_errors();
  }
  own.at_end = own.rows->ended();
  if (own.at_end) return ok_status();
  const std::uint32_t place = place_of(own.row);
  Status status = own.rows->next(slot, place);
  if (exhausted(status)) return status;
  write_origin(own, slot, place);
  std::vector<Error> errors = own.rows->take_errors();
  for (Error& error : errors) {
    error.index = static_cast<std::int64_t>(own.row);
    DRAPPS_RETURN_IF_ERROR(window_.report(error));
  }
  if (status.ok() && !errors.empty() && plan_->spec.on_error == OnError::kRaise) return std::move(errors.front());
  return status;
}

void StreamRunner::write_origin(const OwnStream& own, std::byte* slot, std::uint32_t place) const {
  put_number<std::int64_t>(plan_->layout.row(slot, index_column_, place), own.row);
  put_number<std::int64_t>(plan_->layout.row(slot, position_column_, place), own.row);
  put_number<std::uint8_t>(plan_->layout.row(slot, flags_column_, place), own.rows->padding() ? kFlagPadded : 0);
}

}  // namespace drapps
