#include "drapps/pipeline/executor.h"

#include <utility>

namespace drapps {

Result<std::unique_ptr<Executor>> Executor::make(const RunnerParts& parts) {
  std::unique_ptr<Executor> executor(new Executor(parts));
  auto reader = parts.source->storage().make_reader({.depth = parts.settings[KnobId::kIoDepth]}, *executor);
  if (!reader.ok()) return std::move(reader).error();
  executor->reader_ = std::move(*reader);
  DRAPPS_RETURN_IF_ERROR(parts.engine.workers().attach(*executor, parts.settings[KnobId::kWorkers]));
  return executor;
}

Executor::Executor(const RunnerParts& parts)
    : WindowRunner(parts),
      weights_(parts.weights),
      decoder_(parts.late),
      pool_(engine_.memory(MemoryUse::kWorkspaces)),
      ahead_(sampler_),
      queues_(plan_->lanes, metrics_),
      rows_stay_(decoder_ != nullptr && decoder_->room() != nullptr && plan_->rows_there &&
                 arena_->pinned_for() == decoder_->room()->device.get()) {
  schedule(parts.settings);
}

Executor::~Executor() {
  {
    const std::scoped_lock lock(mutex_);
    stopping_ = true;
  }
  leave_workers();
  reader_.reset();
  Lock lock(mutex_);
  none_late_.wait(lock, [this] { return decoding_ == 0; });
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
