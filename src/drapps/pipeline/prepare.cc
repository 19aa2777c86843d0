#include "drapps/pipeline/prepare.h"

#include <utility>

#include "drapps/base/clock.h"
#include "drapps/base/lane.h"

namespace drapps {
namespace {

/// Adds the thread-CPU time of its scope to a sample that is measured.
class KernelTimer {
 public:
  explicit KernelTimer(SampleTask& task) noexcept : task_(task), start_(task.measured ? thread_cpu_ns() : 0) {}
  ~KernelTimer() {
    if (task_.measured) task_.kernel_cpu_ns += thread_cpu_ns() - start_;
  }
  KernelTimer(const KernelTimer&) = delete;
  KernelTimer& operator=(const KernelTimer&) = delete;

 private:
  SampleTask& task_;
  std::uint64_t start_;
};

}  // namespace

PlanLanes sample_lanes() {
  using Step = Status (Preparer::*)(SampleTask&) const;
  const auto work = [](Step step) -> LaneWork {
    return [step](const Preparer& preparer, SampleTask& task, LaneSink&) { return (preparer.*step)(task); };
  };
  return {.fused = {{lane_place(LaneRole::kPrepare), work(&Preparer::prepare)}},
          .split = {{lane_place(LaneRole::kDecode), work(&Preparer::decode), 1},
                    {lane_place(LaneRole::kAugment), work(&Preparer::augment), 2},
                    {lane_place(LaneRole::kCollate), work(&Preparer::collate)}}};
}

Workspace Preparer::new_workspace(MemoryLedger& ledger) const {
  Workspace workspace;
  for (const auto& part : plan_->parts) workspace.states.push_back(part->new_state(ledger, indexes_));
  return workspace;
}

Error Preparer::named(Error error, const SampleTask& task, RecordPart part) const {
  if (error.path.empty()) error.path = source_->name(task.index, part);
  error.index = static_cast<std::int64_t>(task.index);
  return error;
}

Status Preparer::each_part(SampleTask& task, Step step) const {
  const Coordinate at = coordinate(task.row.position);
  const KernelTimer timer(task);
  std::size_t ordinals = 0;
  for (const auto& part : plan_->parts) {
    Status status = (*part.*step)(task, PartDraws(at, ordinals));
    if (!status.ok()) return named(std::move(status).error(), task, part->of());
    ordinals += part->ordinals();
  }
  return ok_status();
}

Status Preparer::decode(SampleTask& task) const {
  Status status = each_part(task, &PartPlan::decode);
  if (!status.ok() || task.cache == nullptr) return status;
  for (RecordPart part = kFirstPart; part < task.parts; ++part) {
    if (task.cache->form(part) == cache::FormId::kBytes) task.cache->keep_bytes(task, part);
  }
  task.cache->keep_whole(task);
  return status;
}

Status Preparer::augment(SampleTask& task) const { return each_part(task, &PartPlan::augment); }

Status Preparer::collate(SampleTask& task) const {
  const KernelTimer timer(task);
  for (const ColumnWriter& writer : plan_->writers) {
    Status status = writer.write(task, plan_->layout.row(task.slot, writer.column, task.row_in_batch));
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
  task.index = sampler_.replacement(task.row.position, attempt);
}

}  // namespace drapps
