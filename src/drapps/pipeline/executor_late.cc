// Samples that a device decodes, between the worker that read them and the lanes that finish them.
#include "drapps/base/caught.h"
#include "drapps/base/clock.h"
#include "drapps/deliver/device_room.h"
#include "drapps/pipeline/device_share.h"
#include "drapps/pipeline/executor.h"

namespace drapps {
namespace {

constexpr std::size_t kDecodeThere = lane_place(LaneRole::kDecode, LaneDevice::kCuda);

}  // namespace

/// Whether the device is to be asked for the task, which a worker is about to have.
bool Executor::offers(const SampleTask& task) const {
  return !task.late.tried && !task.fetch.failed && decoding_ < decoder_->most() &&
         decodes_on_device(task.sample.asked.row.position, settings_);
}

/// The device is asked for the task, and where its row may stay there.
void Executor::want_late(SampleTask& task) {
  const SampleTask::RowPlace& place = task.place;
  task.late = {.wanted = true, .augment = augments_on_device(task.sample.asked.row.position, settings_), .tried = true};
  task.sample.row_there = nullptr;
  ++decoding_;
  if (!task.late.augment || !rows_stay_) return;
  const Column& column = plan_->layout.columns()[plan_->rows_there->column];
  const auto rows = catching([&] {
    return rows_there(*window_.place(place.step), decoder_->room(), column.row_bytes * plan_->layout.capacity());
  });
  rows_stay_ = rows.ok();  // else there is no memory for them
  if (rows.ok()) task.sample.row_there = *rows + column.row_bytes * place.row;
}

/// The task is not offered now after all.
void Executor::withdraw(SampleTask& task) {
  if (task.late.wanted) --decoding_;
  task.late = {};
}

bool Executor::list_late(SampleTask& task) noexcept {
  LaneTimer timer(kDecodeThere);
  bool listed = false;
  const Status status = catching([&] {
    if (task.sample.workspace == nullptr) {
      const std::scoped_lock lock(mutex_);
      add_workspace(task);
    }
    listed = preparer_.decode_late(task, *decoder_, *this, task.late.augment);
  });
  const LaneTime spent = timer.end();
  if (listed) metrics_[kDecodeThere].service_cpu.record(spent.cpu_ns);
  task.times.served(kDecodeThere, {.wall_ns = 0, .cpu_ns = spent.cpu_ns});
  return listed;
}

/// Offers a task to the device. True: it is the device's until late_decoded(). False: it goes on here.
/// @param good  whether it was read.
bool Executor::hand_over(SampleTask& task, bool good) {
  task.late.wanted = false;
  const bool listed = good && list_late(task);
  {
    const std::scoped_lock lock(mutex_);
    if (!listed) {
      --decoding_;
      return false;
    }
    leave(task);
  }
  task.late.begun_ns = monotonic_ns();
  decoder_->release(task.sample);
  return true;
}

void Executor::late_decoded(Sample& sample) noexcept {
  SampleTask& task = *static_cast<SampleTask::TaskRead&>(*sample.read).task;
  const LaneTime spent{.wall_ns = monotonic_ns() - task.late.begun_ns};
  metrics_[kDecodeThere].service_wall.record(spent.wall_ns);
  task.times.served(kDecodeThere, spent);
  WorkerGroup& workers = engine_.workers();  // this may be gone when the lock is
  {
    const std::scoped_lock lock(mutex_);
    enter(task);
    if (--decoding_ == 0) none_late_.notify_all();
  }
  workers.wake();
}

}  // namespace drapps
