// Requests that wait for a moment, on one thread.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "drapps/exec/service_thread.h"
#include "drapps/storage/reader.h"

namespace drapps {

/// Every member may be called from any thread, the destructor apart.
class TimerQueue {
 public:
  struct TimedRead {
    std::uint64_t due_ns = 0;  // on CLOCK_MONOTONIC
    ReadRequest* request = nullptr;
    Status status = ok_status();  // the caller's
  };
  using Due = std::function<void(TimedRead&)>;

  /// @param name  of its thread, which is made with the first entry.
  /// @param due   is called on it with each entry whose moment has come, in their order; throws nothing.
  TimerQueue(std::string name, Due due) : name_(std::move(name)), due_(std::move(due)) {}
  ~TimerQueue() { (void)close(); }
  TimerQueue(const TimerQueue&) = delete;
  TimerQueue& operator=(const TimerQueue&) = delete;

  /// kResourceExhausted without memory or a thread, kCancelled once it is closed: nobody waits then.
  Status add(std::uint64_t due_ns, ReadRequest& request, Status status = ok_status());
  /// Ends the thread, and gives what still waits.
  std::vector<TimedRead> close();

 private:
  static bool later(const TimedRead& a, const TimedRead& b) noexcept { return a.due_ns > b.due_ns; }
  void serve();

  const std::string name_;
  const Due due_;
  std::mutex mutex_;  // guards all below
  std::condition_variable changed_;
  std::vector<TimedRead> heap_;  // the earliest on top
  bool closed_ = false;
  ServiceThread thread_;
};

}  // namespace drapps
