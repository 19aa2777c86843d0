#include "worker_call.h"

#include <condition_variable>
#include <mutex>

#include "drapps/base/process_local.h"
#include "shared.h"

namespace drapps {

/// The workers of this process that are within Python.
struct WorkerCall::Calls {
  std::mutex mutex;
  std::condition_variable left;
  int inside = 0;
  bool stopped = false;
};

WorkerCall::WorkerCall() : calls_(process_local<Calls>()) {
  const std::scoped_lock lock(calls_.mutex);
  allowed_ = !calls_.stopped;
  calls_.inside += allowed_ ? 1 : 0;
}

WorkerCall::~WorkerCall() {
  if (!allowed_) return;
  const std::scoped_lock lock(calls_.mutex);
  --calls_.inside;
  calls_.left.notify_all();
}

void stop_worker_calls() {
  const WithoutGil released;
  auto& calls = process_local<WorkerCall::Calls>();
  std::unique_lock lock(calls.mutex);
  calls.stopped = true;
  calls.left.wait(lock, [&] { return calls.inside == 0; });
}

}  // namespace drapps
