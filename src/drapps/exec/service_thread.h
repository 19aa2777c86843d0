// A named thread for one standing duty (an I/O ring, a controller), as opposed to the elastic workers.
//
//   auto thread = ServiceThread::start("drapps-meters", [this](const std::stop_token& stop) { run(stop); });
//   if (!thread.ok()) return std::move(thread).error();
//   thread_ = *std::move(thread);
#pragma once

#include <functional>
#include <stop_token>
#include <string>
#include <thread>

#include "drapps/base/result.h"

namespace drapps {

/// Runs one function until it returns. All signals are blocked in the thread, so that handlers run where the
/// program expects them. The destructor asks the function to stop and waits for it.
///
/// After fork() the thread does not exist in the child: there, a ServiceThread is abandoned, never destroyed.
class ServiceThread {
 public:
  ServiceThread() noexcept = default;

  /// @param name  shown by tools such as top; cut to 15 bytes.
  /// @param body  must return soon after its token is stopped, and throw nothing.
  /// kResourceExhausted where the system makes no more threads or has no memory.
  static Result<ServiceThread> start(const std::string& name, std::function<void(std::stop_token)> body);

  bool joinable() const noexcept { return thread_.joinable(); }
  void request_stop() noexcept { thread_.request_stop(); }
  /// Waits for the function to return. Requires joinable().
  void join() { thread_.join(); }

 private:
  explicit ServiceThread(std::jthread thread) noexcept : thread_(std::move(thread)) {}
  std::jthread thread_;
};

}  // namespace drapps
