// Python, called by the core's workers.
#pragma once

namespace drapps {

/// One call of a worker; false where there may be none any more. The caller takes the GIL within.
class WorkerCall {
  struct Calls;  // of this process

 public:
  WorkerCall();
  ~WorkerCall();
  WorkerCall(const WorkerCall&) = delete;
  WorkerCall& operator=(const WorkerCall&) = delete;
  explicit operator bool() const noexcept { return allowed_; }

 private:
  friend void stop_worker_calls();
  Calls& calls_;
  bool allowed_ = false;
};

/// From here on no worker calls Python any more. Waits for those that do; called under the GIL, before the interpreter
/// begins to end, since a thread that is within Python then never comes back.
void stop_worker_calls();

}  // namespace drapps
