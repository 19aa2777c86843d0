// A worker's sign of life, and its end with its parent.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include "drapps/base/process_name.h"
#include "drapps/base/result.h"
#include "drapps/exec/service_thread.h"
#include "drapps/worker/board_memory.h"

namespace drapps {

struct Parent {
  std::int32_t pid;
  std::uint64_t start;  // process_start_time(pid), asked by the parent itself
};

/// A thread that counts ProcessEntry::heartbeats up and writes the process's CPU time, four times a second. Where the
/// parent is gone, it ends this process at once by _exit(1), whatever the other threads do.
class Heartbeat {
 public:
  /// @param kill_with_parent  the kernel, too, shall kill this process when the *thread* that forked it ends, so that
  ///                          even a stopped process ends. Only for a parent that forks in its main thread.
  /// kResourceExhausted where the system has no thread or descriptor left. A parent that is gone already ends the
  /// process here.
  static Result<Heartbeat> start(const std::shared_ptr<BoardMemory>& memory, std::uint32_t number, const Parent& parent,
                                 bool kill_with_parent);

 private:
  explicit Heartbeat(ServiceThread thread) noexcept : thread_(std::move(thread)) {}
  ServiceThread thread_;
};

}  // namespace drapps
