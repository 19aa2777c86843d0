#include "drapps/storage/timer_queue.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "drapps/base/caught.h"
#include "drapps/base/clock.h"
#include "drapps/storage/read_file.h"

namespace drapps {

Status TimerQueue::add(std::uint64_t due_ns, ReadRequest& request, Status status) {
  const std::scoped_lock lock(mutex_);
  if (closed_) return cancelled();
  if (!thread_.joinable()) {
    auto thread = ServiceThread::start(name_, [this](const std::stop_token&) { serve(); });
    if (!thread.ok()) return std::move(thread).error();
    thread_ = std::move(*thread);
  }
  DRAPPS_RETURN_IF_ERROR(catching([&] { heap_.push_back({due_ns, &request, std::move(status)}); }));
  std::ranges::push_heap(heap_, later);
  if (heap_.front().request == &request) changed_.notify_one();
  return ok_status();
}

std::vector<TimerQueue::TimedRead> TimerQueue::close() {
  {
    const std::scoped_lock lock(mutex_);
    closed_ = true;
  }
  changed_.notify_one();
  if (thread_.joinable()) thread_.join();
  thread_ = {};
  return std::exchange(heap_, {});
}

void TimerQueue::serve() {
  std::unique_lock lock(mutex_);
  while (!closed_) {
    const std::uint64_t now = monotonic_ns();
    if (heap_.empty()) {
      changed_.wait(lock);
    } else if (heap_.front().due_ns > now) {
      changed_.wait_for(lock, std::chrono::nanoseconds(heap_.front().due_ns - now));
    } else {
      std::ranges::pop_heap(heap_, later);
      TimedRead entry = std::move(heap_.back());
      heap_.pop_back();
      lock.unlock();
      due_(entry);
      lock.lock();
    }
  }
}

}  // namespace drapps
