#include "drapps/control/slow_meters.h"

#include <chrono>
#include <optional>
#include <utility>

#include "drapps/base/caught.h"
#include "drapps/base/clock.h"

namespace drapps {
namespace {

constexpr std::chrono::seconds kBetweenSlowLooks{1};
constexpr std::chrono::milliseconds kMostWaitAtEnd{500};

std::optional<ResidencyMeter> residency_of(std::vector<std::string> paths) {
  if (paths.empty()) return std::nullopt;
  const std::size_t count = paths.size();
  return std::optional<ResidencyMeter>(std::in_place, count,
                                       [paths = std::move(paths)](std::uint64_t index) { return paths[index]; });
}

}  // namespace

SlowMeters::~SlowMeters() {
  if (!thread_.joinable()) return;
  thread_.request_stop();
  thread_.join();
}

void SlowMeters::set_files(std::vector<std::string> paths) {
  const std::lock_guard lock(mutex_);
  files_ = std::move(paths);
  new_files_ = true;
}

SlowReadings SlowMeters::read() {
  const std::lock_guard lock(mutex_);
  if (!std::exchange(started_, true)) {
    auto thread = ServiceThread::start("drapps-meters", [this](const std::stop_token& stop) { run(stop); });
    if (thread.ok()) thread_ = std::move(*thread);
  }
  asked_ = true;
  changed_.notify_all();
  return latest_;
}

void SlowMeters::end() noexcept {
  std::unique_lock lock(mutex_);
  started_ = true;
  if (!thread_.joinable()) return;
  thread_.request_stop();
  if (changed_.wait_for(lock, kMostWaitAtEnd, [&] { return ended_; })) thread_.join();
}

void SlowMeters::run(const std::stop_token& stop) noexcept {
  // Where memory is short the latest readings grow old, which says that they are none.
  static_cast<void>(catching([&] { loop(stop); }));
  const std::lock_guard lock(mutex_);
  ended_ = true;
  changed_.notify_all();
}

void SlowMeters::loop(const std::stop_token& stop) {
  std::optional<GpuMeter> gpus;
  std::optional<ResidencyMeter> residency;
  for (;;) {
    {
      std::unique_lock lock(mutex_);
      if (!changed_.wait(lock, stop, [&] { return asked_; }) || stop.stop_requested()) return;
      asked_ = false;
      if (std::exchange(new_files_, false)) residency = residency_of(std::move(files_));
    }
    const auto begun = std::chrono::steady_clock::now();
    if (!gpus) gpus.emplace(source_);
    SlowReadings seen;
    seen.gpu = gpus->read(monotonic_ns());
    if (!gpus->devices().empty()) seen.gpu_link = gpus->read_slow(monotonic_ns());
    if (residency) seen.residency = residency->read(monotonic_ns());
    seen.gpus.assign(gpus->devices().begin(), gpus->devices().end());
    seen.gpu_links.assign(gpus->links().begin(), gpus->links().end());
    std::unique_lock lock(mutex_);
    latest_ = std::move(seen);
    changed_.wait_until(lock, stop, begun + kBetweenSlowLooks, [] { return false; });
    if (stop.stop_requested()) return;
  }
}

}  // namespace drapps
