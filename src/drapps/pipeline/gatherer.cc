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
  const std::size_t rows = (plan.spec.ops.empty() ? kRunBytes : kRunBytesOfOps) / row;
  return static_cast<std::uint32_t>(std::clamp<std::size_t>(rows, 1, plan.layout.capacity()));
}

}  // namespace

Result<std::unique_ptr<Gatherer>> Gatherer::make(std::shared_ptr<const Plan> plan, std::shared_ptr<Source> source,
                                                 Sampler sampler, std::uint64_t seed, bool ahead,
                                                 const Settings& settings, Engine& engine,
                                                 std::shared_ptr<SlotArena> arena) {
  std::unique_ptr<Gatherer> made(new Gatherer(std::move(plan), std::move(source), std::move(sampler), seed, ahead,
                                              settings, engine, std::move(arena)));
  if (made->shared_) DRAPPS_RETURN_IF_ERROR(engine.workers().attach(*made, settings[KnobId::kWorkers]));
  return made;
}

Gatherer::Gatherer(std::shared_ptr<const Plan> plan, std::shared_ptr<Source> source, Sampler sampler,
                   std::uint64_t seed, bool ahead, const Settings& settings, Engine& engine,
                   std::shared_ptr<SlotArena> arena)
    : plan_(std::move(plan)),
      source_(std::move(source)),
      arrays_(*source_->arrays()),
      sampler_(std::move(sampler)),
      engine_(engine),
      arena_(std::move(arena)),
      preparer_(plan_, source_, sampler_, seed, nullptr),
      ahead_(ahead),
      grain_(rows_of_a_run(*plan_)),
      shared_(ahead || plan_->layout.capacity() > grain_),
      settings_(settings),
      ring_(kRing),
      position_(sampler_.start_position()) {}

Gatherer::~Gatherer() {
  {
    const std::scoped_lock lock(mutex_);
    stopping_ = true;
  }
  if (shared_) engine_.workers().detach(*this);
  for (BatchState& batch : ring_) {
    if (batch.started()) arena_->abandon(batch.slot);
  }
}

std::optional<Runner::Next> Gatherer::next(std::chrono::milliseconds patience) {
  std::unique_lock lock(mutex_);
  if (asked_ns_ == 0) {
    asked_ns_ = monotonic_ns();
    if (last_asked_ns_ != 0) metrics_.step.record(asked_ns_ - last_asked_ns_);
    last_asked_ns_ = asked_ns_;
  }
  if (deliver_step_ == sampler_.steps()) {
    asked_ns_ = 0;
    last_asked_ns_ = 0;
    return Finished{};
  }
  const std::uint64_t until = monotonic_ns() + static_cast<std::uint64_t>(patience.count()) * 1'000'000;
  bool called = false;
  while (!batch_of(deliver_step_).landed()) {
    if (monotonic_ns() >= until) return std::nullopt;
    if (const Run run = take(deliver_step_ + 1); run.slot != nullptr) {
      auto hand = borrow();
      lock.unlock();
      // The rest of a large batch is for the others.
      if (shared_ && !std::exchange(called, true)) engine_.workers().wake(kRing);
      work(run, *hand);
      lock.lock();
      give_back(run, std::move(hand));
      continue;
    }
    if (no_slot_) {
      if (monotonic_ns() - no_slot_since_ns_ > kMemoryPatienceNs) {
        Error lack = *std::move(no_slot_);
        no_slot_.reset();
        return lack;
      }
      lock.unlock();
      engine_.workers().release_idle(*this);
      lock.lock();
      // Memory that others give back wakes nobody here.
      landed_.wait_for(lock, std::chrono::milliseconds(1));
      continue;
    }
    landed_.wait_for(lock, patience, [this] { return batch_of(deliver_step_).landed(); });
  }
  Next next = deliver();
  metrics_.stall.record(monotonic_ns() - asked_ns_);
  asked_ns_ = 0;
  // Workers that sleep are woken for half a queue at a time: waking costs as much as a small batch.
  const std::uint64_t depth = horizon() - deliver_step_;
  const bool wake = ahead_ && fetch_step_ < sampler_.steps() && horizon() - fetch_step_ > depth / 2;
  lock.unlock();
  if (wake) engine_.workers().wake(kRing);
  return next;
}

std::uint64_t Gatherer::horizon() const {
  const auto depth = static_cast<std::uint64_t>(settings_[KnobId::kPrefetchDepth]);
  const std::uint64_t most = ahead_ ? std::clamp<std::uint64_t>(depth, 1, kRing) : (asked_ns_ != 0 ? 1u : 0u);
  return std::min(deliver_step_ + most, sampler_.steps());
}

bool Gatherer::open(std::uint64_t step) {
  BatchState& batch = batch_of(step);
  if (batch.started()) return true;
  auto slot = catching([this] { return arena_->acquire(); });
  if (!slot.ok()) {
    if (step == deliver_step_ && !no_slot_) {
      no_slot_ = std::move(slot).error();
      no_slot_since_ns_ = monotonic_ns();
    }
    return false;
  }
  batch.slot = *slot;
  batch.rows = batch.left = sampler_.batch(step).rows;
  return true;
}

Gatherer::Run Gatherer::take(std::uint64_t before_step) {
  const std::uint64_t end = std::min(before_step, horizon());
  if (stopping_ || fetch_step_ >= end || !open(fetch_step_) || !ready_hand()) return {};
  no_slot_.reset();
  const BatchState& batch = batch_of(fetch_step_);
  const Run run{fetch_step_, fetch_row_, std::min(grain_, batch.rows - fetch_row_), batch.slot->data};
  fetch_row_ += run.rows;
  if (fetch_row_ == batch.rows) {
    fetch_row_ = 0;
    ++fetch_step_;
  }
  return run;
}

/// Makes sure of one to borrow.
bool Gatherer::ready_hand() {
  if (!hands_.empty()) return true;
  Status made = catching([this] {
    hands_.reserve(made_hands_ + 1);
    hands_.push_back(std::make_unique<Hand>(engine_.memory(MemoryUse::kWorkspaces)));
    ++made_hands_;
  });
  if (made.ok()) return true;
  // Where there are some, the next one that is given back will do.
  if (made_hands_ == 0 && !no_slot_) {
    no_slot_ = std::move(made).error();
    no_slot_since_ns_ = monotonic_ns();
  }
  return false;
}

std::unique_ptr<Gatherer::Hand> Gatherer::borrow() noexcept {
  auto hand = std::move(hands_.back());
  hands_.pop_back();
  return hand;
}

void Gatherer::give_back(const Run& run, std::unique_ptr<Hand> hand) noexcept {
  BatchState& batch = batch_of(run.step);
  Status noted = catching([&] {
    if (hand->raised) hand->failed.emplace_back(run.first, *std::exchange(hand->raised, std::nullopt));
    for (auto& [row, error] : hand->failed) {
      if (bad_.size() < kLedgerSize) bad_.push_back(error);
      batch.failed.emplace_back(row, std::move(error));
    }
  });
  if (!noted.ok()) batch.raise(std::move(noted).error());
  hand->failed.clear();
  batch.left -= run.rows;
  hands_.push_back(std::move(hand));
}

bool Gatherer::run_one() noexcept {
  std::unique_lock lock(mutex_);
  const Run run = take(horizon());
  if (run.slot == nullptr) return false;
  auto hand = borrow();
  lock.unlock();
  work(run, *hand);
  lock.lock();
  give_back(run, std::move(hand));
  const bool landed = run.step == deliver_step_ && batch_of(run.step).left == 0;
  lock.unlock();
  if (landed) landed_.notify_all();
  return true;
}

Runner::Next Gatherer::deliver() {
  BatchState& batch = batch_of(deliver_step_);
  const std::uint64_t step = deliver_step_++;
  position_ = sampler_.position_after(step);
  metrics_.batches.fetch_add(1, std::memory_order_relaxed);
  Slot* slot = std::exchange(batch.slot, nullptr);
  if (!batch.failed.empty()) {
    // Rows of arrays are never bad. What failed is memory, which is an error under every OnError.
    auto failed = std::exchange(batch.failed, {});
    batch.raise(std::move(std::min_element(failed.begin(), failed.end(), [](const auto& a, const auto& b) {
                            return a.first < b.first;
                          })->second));
  }
  if (auto raised = std::exchange(batch.raised, std::nullopt)) {
    arena_->abandon(slot);
    return *std::move(raised);
  }
  plan_->write_header(slot->data, step, sampler_.epoch(), batch.rows);
  metrics_.samples.fetch_add(batch.rows, std::memory_order_relaxed);
  return Batch{.slot = arena_->yield(slot), .plan = plan_, .rows = batch.rows, .step = step, .position = position_};
}

void Gatherer::work(const Run& run, Hand& hand) noexcept {
  const std::uint64_t wall = monotonic_ns();
  const std::uint64_t cpu = thread_cpu_ns();
  if (Status status = catching([&] { gather(run, hand); }); !status.ok()) hand.raised = std::move(status).error();
  metrics_.made.mark();
  LaneMetrics& lane = metrics_[lane_place(LaneRole::kPrepare)];
  lane.service_wall.record((monotonic_ns() - wall) / run.rows);
  lane.service_cpu.record((thread_cpu_ns() - cpu) / run.rows);
}

void Gatherer::apply(const Settings& settings) {
  {
    const std::scoped_lock lock(mutex_);
    settings_ = settings;
  }
  if (shared_) engine_.workers().set_share(*this, settings[KnobId::kWorkers]);
}

std::uint32_t Gatherer::ready_batches() const {
  const std::scoped_lock lock(mutex_);
  return static_cast<std::uint32_t>(
      std::count_if(ring_.begin(), ring_.end(), [](const BatchState& batch) { return batch.landed(); }));
}

bool Gatherer::ready() const {
  const std::scoped_lock lock(mutex_);
  return batch_of(deliver_step_).landed();
}

std::uint64_t Gatherer::position() const {
  const std::scoped_lock lock(mutex_);
  return position_;
}

std::uint64_t Gatherer::left() const {
  const std::scoped_lock lock(mutex_);
  return sampler_.steps() - deliver_step_;
}

std::vector<Error> Gatherer::bad_samples() const {
  const std::scoped_lock lock(mutex_);
  return bad_;
}

std::vector<Error> Gatherer::take_bad_samples() noexcept {
  const std::scoped_lock lock(mutex_);
  return std::exchange(bad_, {});
}

bool Gatherer::release_idle() noexcept {
  arena_->trim();
  const std::scoped_lock lock(mutex_);
  for (const auto& hand : hands_) hand->workspace.reset();
  return deliver_step_ != sampler_.steps();
}

}  // namespace drapps
