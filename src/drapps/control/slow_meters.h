// Meters that may block, on a thread of their own: GPUs, whose driver may sleep or hang, and files, which may lie on a
// storage that does.
#pragma once

#include <condition_variable>
#include <mutex>
#include <string>
#include <vector>

#include "drapps/exec/service_thread.h"
#include "drapps/meter/gpu_meter.h"
#include "drapps/meter/residency_meter.h"

namespace drapps {

struct SlowReadings {
  GpuSummary<GpuReadings> gpu{};
  GpuSummary<GpuLinkReadings> gpu_link{};
  ResidencyReadings residency{};
  std::vector<GpuReadings> gpus;  // each device
  std::vector<GpuLinkReadings> gpu_links;
};

/// Every member may be called from any thread; none waits for a meter. After fork() the child has no thread: there it
/// is abandoned.
class SlowMeters {
 public:
  explicit SlowMeters(GpuMeter::GpuSource gpus) : source_(std::move(gpus)) {}
  /// Waits for a meter that is being read.
  ~SlowMeters();
  SlowMeters(const SlowMeters&) = delete;
  SlowMeters& operator=(const SlowMeters&) = delete;

  /// The files whose residency is told from the next look on.
  void set_files(std::vector<std::string> paths);
  /// The latest readings; and asks for the next ones, which are made once a second at most, and only when asked for.
  /// The first call starts the thread; where the system makes none, all is invalid for good.
  SlowReadings read();
  /// The process ends: nothing is read any more, so that no library is asked that has been taken down. Waits for a look
  /// that is under way, half a second at most.
  void end() noexcept;

 private:
  void run(const std::stop_token& stop) noexcept;
  void loop(const std::stop_token& stop);

  const GpuMeter::GpuSource source_;
  std::mutex mutex_;  // guards all below
  std::condition_variable_any changed_;
  bool started_ = false;
  bool asked_ = false;
  bool ended_ = false;  // the thread
  bool new_files_ = false;
  std::vector<std::string> files_;
  SlowReadings latest_;
  ServiceThread thread_;
};

}  // namespace drapps
