#include "drapps/pipeline/executor.h"

#include <algorithm>
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
  executor->schedule(settings);
  DRAPPS_RETURN_IF_ERROR(engine.workers().attach(*executor, settings[KnobId::kWorkers]));
  return executor;
}

Executor::Executor(std::shared_ptr<const Plan> plan, std::shared_ptr<Source> source, Sampler sampler,
                   std::uint64_t seed, Engine& engine, std::shared_ptr<SlotArena> arena,
                   std::shared_ptr<jpeg::IndexStore> indexes, WeightUse weights)
    : WindowRunner(std::move(plan), std::move(source), std::move(sampler), seed, engine, std::move(arena),
                   std::move(indexes)),
      weights_(weights) {
  for (const auto* list : {&plan_->lanes.fused, &plan_->lanes.split}) {
    for (const PlanLane& lane : *list) {
      if (lane.next != PlanLane::kLast) inner_.push_back((*list)[lane.next].place);
    }
  }
  std::sort(inner_.begin(), inner_.end());
  inner_.erase(std::unique(inner_.begin(), inner_.end()), inner_.end());
}

Executor::~Executor() {
  {
    const std::scoped_lock lock(mutex_);
    stopping_ = true;
  }
  engine_.workers().detach(*this);
  reader_.reset();
  Lock lock(mutex_);
  none_late_.wait(lock, [this] { return late_ == 0; });
}

void Executor::taken(Lock& lock) {
  resume_starved();
  const Reads reads = read_ahead();
  const std::uint32_t rows = sampler_.batch(taker_.step() - 1).rows;
  lock.unlock();
  submit(reads);
  engine_.workers().wake(rows);
}

void Executor::apply(const Settings& settings) {
  schedule(settings);
  reader_->set_depth(settings[KnobId::kIoDepth]);
  engine_.workers().set_share(*this, settings[KnobId::kWorkers]);
}

}  // namespace drapps
