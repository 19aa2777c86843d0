// CPU time as a hard limit: a token bucket in CPU-seconds, for threads and processes together.
//
//   auto pause = budget.charge(cpu_ns, monotonic_ns());
//   for (; pause.count() > 0; pause = budget.charge(0, monotonic_ns())) {
//     std::this_thread::sleep_for(std::min<std::chrono::nanoseconds>(pause, CpuBudget::kSlice));
//   }
//
// Whatever serves the loaders books the CPU time that it used, and sleeps when all together are ahead of `cores`
// CPU-seconds per second. The bucket holds a tenth of a second, so a pause does not earn a burst.
//
// Its state is one word, the moment up to which the time booked is paid for, in memory that other processes may map: no
// lock, so nobody who dies can leave it taken. Source: the generic cell rate algorithm (ITU-T I.371).
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <utility>

#include "drapps/base/result.h"
#include "drapps/shm/file.h"

namespace drapps {

/// All members may be called from any thread.
class CpuBudget {
 public:
  static constexpr std::chrono::milliseconds kSlice{20};
  static constexpr double kUnlimited = std::numeric_limits<double>::infinity();

  /// A new budget, unlimited. Where the system has no memory to share, fd() is -1 and the rest works.
  CpuBudget();
  /// The budget that `fd` refers to, of any process. `fd` stays the caller's, and need not stay open.
  /// kInvalidArgument for a descriptor of something else.
  static Result<CpuBudget> attach(int fd);

  int fd() const noexcept { return file_ ? file_->fd() : -1; }

  /// Another number than before forgives what is not paid for yet.
  void set_cores(double cores) noexcept;
  double cores() const noexcept;
  bool limited() const noexcept { return cores() < kUnlimited; }

  /// Books `cpu_ns` at time `now_ns` (CLOCK_MONOTONIC); how long the caller has to sleep before its next piece of work.
  /// It sleeps for kSlice at a time and asks again (`cpu_ns` 0), since the limit may have changed.
  std::chrono::nanoseconds charge(std::uint64_t cpu_ns, std::uint64_t now_ns) noexcept;

 private:
  struct SharedBudget {
    std::uint64_t magic;
    std::atomic<double> cores;
    std::atomic<std::uint64_t> paid_ns;  // what was booked is paid for at this time
  };
  static_assert(std::atomic<double>::is_always_lock_free);

  explicit CpuBudget(Mapping mapping) noexcept
      : mapping_(std::move(mapping)), shared_(reinterpret_cast<SharedBudget*>(mapping_.data())) {}

  std::optional<SharedFile> file_;
  Mapping mapping_;
  std::unique_ptr<SharedBudget> own_;  // in the place of the mapping, where there is no file
  SharedBudget* shared_;
};

}  // namespace drapps
