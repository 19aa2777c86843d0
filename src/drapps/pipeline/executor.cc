#include "drapps/pipeline/executor.h"

#include <utility>

#include "drapps/base/clock.h"

namespace drapps {
Result<std::unique_ptr<Executor>> Executor::make(std::shared_ptr<const Plan> plan, std::shared_ptr<Source> source,
                                                 Sampler sampler, std::uint64_t seed, const Settings& settings,
                                                 Engine& engine, std::shared_ptr<SlotArena> arena,
                                                 std::shared_ptr<jpeg::IndexStore> indexes, WeightUse weights) {
  if (arena == nullptr) {
    auto made = SlotArena::make(plan->layout.bytes(), engine.memory(MemoryUse::kBatches));
    if (!made.ok()) return std::move(made).error();
    arena = *std::move(made);
  }
  std::unique_ptr<Executor> executor(new Executor(std::move(plan), std::move(source), std::move(sampler), seed, engine,
                                                  std::move(arena), std::move(indexes), weights));
  auto reader = make_reader({.depth = settings[KnobId::kIoDepth]}, *executor);
  if (!reader.ok()) return std::move(reader).error();
  executor->reader_ = std::move(*reader);
  executor->settings_ = settings;
  DRAPPS_RETURN_IF_ERROR(engine.workers().attach(*executor, settings[KnobId::kWorkers]));
  executor->apply(settings);
  return executor;
}

Executor::Executor(std::shared_ptr<const Plan> plan, std::shared_ptr<Source> source, Sampler sampler,
                   std::uint64_t seed, Engine& engine, std::shared_ptr<SlotArena> arena,
                   std::shared_ptr<jpeg::IndexStore> indexes, WeightUse weights)
    : plan_(std::move(plan)),
      source_(std::move(source)),
      sampler_(std::move(sampler)),
      engine_(engine),
      arena_(std::move(arena)),
      preparer_(plan_, source_, sampler_, seed, std::move(indexes)),
      weights_(weights),
      ring_(kRing),
      position_(sampler_.start_position()) {}

Executor::~Executor() {
  {
    const std::scoped_lock lock(mutex_);
    stopping_ = true;
  }
  engine_.workers().detach(*this);
  reader_.reset();
  for (BatchState& batch : ring_) {
    if (batch.started()) arena_->abandon(batch.slot);
  }
}

std::optional<Executor::Next> Executor::next(std::chrono::milliseconds patience) {
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
  if (!landed_.wait_for(lock, patience, [this] { return batch_of(deliver_step_).landed(); })) {
    if (no_slot_ && monotonic_ns() - no_slot_since_ns_ > kMemoryPatienceNs) {
      Error lack = *std::move(no_slot_);
      no_slot_.reset();
      return lack;
    }
    // Memory given back by another loader wakes nobody here.
    resume_starved();
    const bool no_slot = no_slot_.has_value();
    lock.unlock();
    if (no_slot) engine_.workers().release_idle(*this);
    engine_.workers().wake();
    return std::nullopt;
  }
  Next next = deliver();
  metrics_.stall.record(monotonic_ns() - asked_ns_);
  asked_ns_ = 0;
  resume_starved();
  const Reads reads = read_ahead();
  const std::uint32_t rows = sampler_.batch(deliver_step_ - 1).rows;
  lock.unlock();
  submit(reads);
  engine_.workers().wake(rows);
  return next;
}

Executor::Next Executor::deliver() {
  BatchState& landed = batch_of(deliver_step_);
  const std::uint64_t step = deliver_step_++;
  position_ = sampler_.position_after(step);
  metrics_.batches.fetch_add(1, std::memory_order_relaxed);
  Slot* slot = std::exchange(landed.slot, nullptr);
  if (auto raised = std::exchange(landed.raised, std::nullopt)) {
    arena_->abandon(slot);
    return *std::move(raised);
  }
  const std::uint32_t rows = landed.rows;
  plan_->write_header(slot->data, step, sampler_.epoch(), rows);
  metrics_.samples.fetch_add(rows, std::memory_order_relaxed);
  return Batch{.slot = arena_->yield(slot), .plan = plan_, .rows = rows, .step = step, .position = position_};
}

void Executor::apply(const Settings& settings) {
  {
    const std::scoped_lock lock(mutex_);
    settings_ = settings;
    for (std::size_t lane = 0; lane < kLanes.size(); ++lane) {
      const std::int32_t weight = settings.lane_weights[lane];
      stride_.set_weight(lane, weight);
      if (weights_ == WeightUse::kShare || weight == 0) continue;
      stride_.set_cap(lane,
                      static_cast<std::size_t>((settings[KnobId::kWorkers] * weight + kWeightUnit - 1) / kWeightUnit));
    }
  }
  reader_->set_depth(settings[KnobId::kIoDepth]);
  engine_.workers().set_share(*this, settings[KnobId::kWorkers]);
}

std::uint32_t Executor::ready_batches() const {
  const std::scoped_lock lock(mutex_);
  std::uint32_t ready = 0;
  for (std::uint64_t step = deliver_step_; step < deliver_step_ + kRing; ++step)
    ready += batch_of(step).landed() ? 1 : 0;
  return ready;
}

bool Executor::ready() const {
  const std::scoped_lock lock(mutex_);
  return batch_of(deliver_step_).landed();
}

std::uint64_t Executor::position() const {
  const std::scoped_lock lock(mutex_);
  return position_;
}

std::uint64_t Executor::left() const {
  const std::scoped_lock lock(mutex_);
  return sampler_.steps() - deliver_step_;
}

std::vector<Error> Executor::bad_samples() const {
  const std::scoped_lock lock(mutex_);
  return bad_;
}

std::vector<Error> Executor::take_bad_samples() noexcept {
  const std::scoped_lock lock(mutex_);
  return std::exchange(bad_, {});
}

}  // namespace drapps
