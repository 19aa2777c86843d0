#include "drapps/pipeline/gatherer.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "drapps/base/caught.h"
#include "drapps/base/clock.h"

namespace drapps {
namespace {

// A run of so many bytes takes tens of microseconds, against some two for handing it out. Ops cost several times as
// much per byte.
constexpr std::size_t kRunBytes = std::size_t{256} << 10;
constexpr std::size_t kRunBytesOfOps = std::size_t{32} << 10;

std::uint32_t rows_of_a_run(const Plan& plan) {
  const std::size_t row = std::max<std::size_t>(plan.layout.bytes() / plan.layout.capacity(), 1);
  const std::size_t rows = (plan.writers.empty() ? kRunBytes : kRunBytesOfOps) / row;
  return static_cast<std::uint32_t>(std::clamp<std::size_t>(rows, 1, plan.layout.capacity()));
}

}  // namespace

Result<std::unique_ptr<Gatherer>> Gatherer::make(const RunnerParts& parts) {
  std::unique_ptr<Gatherer> gatherer(new Gatherer(parts));
  if (gatherer->shared_) {
    DRAPPS_RETURN_IF_ERROR(parts.engine.workers().attach(*gatherer, parts.settings[KnobId::kWorkers]));
  }
  return gatherer;
}

Gatherer::Gatherer(const RunnerParts& parts)
    : WindowRunner(parts),
      ahead_(parts.ahead),
      grain_(rows_of_a_run(*plan_)),
      shared_(ahead_ || plan_->layout.capacity() > grain_) {
  window_.set_depth(parts.settings[KnobId::kPrefetchDepth]);
}

Gatherer::~Gatherer() {
  {
    const std::scoped_lock lock(mutex_);
    stopping_ = true;
  }
  if (shared_) leave_workers();
}

bool Gatherer::help(Lock& lock) {
  GatherRun run = take(taker_.step() + 1);
  if (run.scratch == nullptr) return false;
  // The rest of a large batch is for the others.
  const bool call = shared_ && !std::exchange(called_, true);
  if (call) {
    lock.unlock();
    engine_.workers().wake(BatchWindow::kRing);
    lock.lock();
  }
  work(lock, std::move(run));
  return true;
}

void Gatherer::taken(Lock& lock) {
  called_ = false;
  // Workers that sleep are woken for half a queue at a time: waking costs as much as a small batch.
  const std::uint64_t end = window_.end();
  const bool wake = ahead_ && fetch_step_ < end && end - fetch_step_ > (end - window_.front()) / 2;
  lock.unlock();
  if (wake) engine_.workers().wake(BatchWindow::kRing);
}

std::uint64_t Gatherer::horizon() const {
  if (ahead_) return window_.end();
  return window_.front() + (window_.awaited(window_.front()) ? 1 : 0);
}

Gatherer::GatherRun Gatherer::take(std::uint64_t before_step) {
  const std::uint64_t end = std::min(before_step, horizon());
  if (stopping_ || fetch_step_ >= end || !ready_scratch() || !window_.open(fetch_step_)) return {};
  const std::uint32_t rows = window_.rows(fetch_step_);
  GatherRun run{fetch_step_, fetch_row_, std::min(grain_, rows - fetch_row_), window_.place(fetch_step_)->data(),
                std::move(scratches_.back())};
  scratches_.pop_back();
  fetch_row_ += run.rows;
  if (fetch_row_ == rows) {
    fetch_row_ = 0;
    ++fetch_step_;
  }
  return run;
}

/// Makes sure of one to borrow.
bool Gatherer::ready_scratch() {
  if (!scratches_.empty()) return true;
  Status status = catching([this] {
    scratches_.reserve(scratches_made_ + 1);
    MemoryLedger& ledger = engine_.memory(MemoryUse::kWorkspaces);
    scratches_.push_back(std::make_unique<GatherScratch>(ledger, preparer_.new_workspace(ledger)));
    ++scratches_made_;
  });
  if (status.ok()) return true;
  // Where there is scratch memory under way, the next that is released will do.
  if (scratches_made_ == 0) window_.lacks(std::move(status).error());
  return false;
}

WorkFound Gatherer::run_one() noexcept {
  Lock lock(mutex_);
  GatherRun run = take(horizon());
  if (run.scratch == nullptr) {
    if (stopping_ || fetch_step_ == window_.steps()) return WorkFound::kNothing;
    return fetch_step_ < horizon() ? WorkFound::kMemory : WorkFound::kWindow;
  }
  const bool landed = work(lock, std::move(run));
  lock.unlock();
  if (landed) window_.notify();
  return WorkFound::kWork;
}

/// Makes a run with the mutex released; whether takers wait for its batch, which has landed.
bool Gatherer::work(Lock& lock, GatherRun run) noexcept {
  GatherScratch& scratch = *run.scratch;
  lock.unlock();
  const std::size_t place = lane_place(LaneRole::kPrepare);
  LaneTimer timer(place);
  Status status = catching([&] {
    gather(run, scratch);
    for (const auto& [row, error] : scratch.failed) {
      if (Status report = window_.report(error); !report.ok()) return report;
    }
    return ok_status();
  });
  std::optional<FailedRow> raised;
  if (!status.ok()) {
    Status report = window_.report(status.error());
    raised.emplace(run.first, std::move(report.ok() ? status : report).error());
  }
  metrics_.first_sample.mark();
  const LaneTime spent = timer.end();
  metrics_[place].service_wall.record(spent.wall_ns / run.rows);
  metrics_[place].service_cpu.record(spent.cpu_ns / run.rows);
  if (metrics_.log.wants(spent.wall_ns / run.rows)) log(run, spent);
  lock.lock();
  const bool landed =
      window_.finish(lock, run.step, run.rows, raised ? std::span(&*raised, 1) : std::span(scratch.failed));
  scratch.failed.clear();
  scratches_.push_back(std::move(run.scratch));
  return landed;
}

void Gatherer::log(const GatherRun& run, const LaneTime& spent) noexcept {
  const Sampler::Row first = sampler_.row(run.step, run.first);
  SampleTimes times{.record = first.index,
                    .position = first.position,
                    .epoch = sampler_.epoch(),
                    .rows = run.rows,
                    .cpu_ns = spent.cpu_ns};
  times.wall_ns[lane_place(LaneRole::kPrepare)] = spent.wall_ns;
  metrics_.log.add(times);
}

void Gatherer::apply(const Settings& settings) {
  {
    const std::scoped_lock lock(mutex_);
    window_.set_depth(settings[KnobId::kPrefetchDepth]);
  }
  if (shared_) engine_.workers().set_share(*this, settings[KnobId::kWorkers]);
}

void Gatherer::free_memory() noexcept {
  for (const auto& scratch : scratches_) scratch->workspace.reset();
}

}  // namespace drapps
