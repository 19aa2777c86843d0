#include "drapps/pipeline/prepare.h"

#include <utility>

#include "drapps/base/clock.h"
#include "drapps/base/lane.h"

namespace drapps {
namespace {

/// Adds the thread-CPU time of its scope to a sample that is measured.
class KernelTimer {
 public:
  explicit KernelTimer(SampleTask& task) noexcept : task_(task), start_(task.times.measured ? thread_cpu_ns() : 0) {}
  ~KernelTimer() {
    if (task_.times.measured) task_.times.kernel_cpu_ns += thread_cpu_ns() - start_;
  }
  KernelTimer(const KernelTimer&) = delete;
  KernelTimer& operator=(const KernelTimer&) = delete;

 private:
  SampleTask& task_;
  std::uint64_t start_;
};

}  // namespace

PlanLanes sample_lanes() {
  return {.fused = {{lane_place(LaneRole::kPrepare), &Preparer::prepare}},
          .split = {{lane_place(LaneRole::kDecode), &Preparer::decode, 1},
                    {lane_place(LaneRole::kAugment), &Preparer::augment, 2},
                    {lane_place(LaneRole::kCollate), &Preparer::collate}}};
}

Workspace Preparer::new_workspace(MemoryLedger& ledger) const {
  Workspace workspace;
  for (const auto& part : plan_->parts) workspace.states.push_back(part->new_state(ledger, learned_));
  return workspace;
}

Error Preparer::named(Error error, const SampleTask& task, RecordPart part) const {
  if (error.path.empty()) error.path = source_->name(task.sample.asked.record, part);
  error.index = static_cast<std::int64_t>(task.sample.asked.record);
  return error;
}

Status Preparer::each_part(SampleTask& task, Step step) const {
  const Coordinate at = coordinate(task.sample.asked.row.position);
  const KernelTimer timer(task);
  std::size_t ordinals = 0;
  for (const auto& part : plan_->parts) {
    Status status = (*part.*step)(task.sample, PartDraws(at, ordinals));
    if (!status.ok()) return named(std::move(status).error(), task, part->of());
    ordinals += part->ordinals();
  }
  return ok_status();
}

bool Preparer::decode_late(SampleTask& task, LateStage& decoder, LateSink& sink, bool augment) const {
  const PartDraws draws(coordinate(task.sample.asked.row.position), 0);
  return plan_->parts.front()->decode_late(task.sample, draws, decoder, sink, augment);
}

Status Preparer::decode(SampleTask& task) const {
  Status status = each_part(task, &PartPlan::decode);
  if (status.ok() && task.sample.keeper != nullptr) task.sample.keeper->decoded(task.sample.request());
  return status;
}

Status Preparer::augment(SampleTask& task) const { return each_part(task, &PartPlan::augment); }

Status Preparer::collate(SampleTask& task) const {
  const KernelTimer timer(task);
  for (const ColumnWriter& writer : plan_->writers) {
    Status status = writer.write(task.sample, plan_->layout.row(task.place.slot, writer.column, task.place.row));
    if (!status.ok()) return named(std::move(status).error(), task, writer.part);
  }
  return ok_status();
}

Status Preparer::prepare(SampleTask& task) const {
  DRAPPS_RETURN_IF_ERROR(decode(task));
  DRAPPS_RETURN_IF_ERROR(augment(task));
  return collate(task);
}

void Preparer::finish(std::byte* slot, std::uint64_t step, std::uint32_t rows) const {
  const Coordinate at = coordinate(sampler_.batch(step).first_position);
  std::size_t ordinals = 0;
  for (const auto& part : plan_->parts) {
    part->finish(*plan_, slot, rows, PartDraws(at, ordinals));
    ordinals += part->ordinals();
  }
}

void Preparer::replace(SampleTask& task, std::uint32_t attempt) const {
  task.sample.asked.record = sampler_.replacement(task.sample.asked.row.position, attempt);
}

}  // namespace drapps
