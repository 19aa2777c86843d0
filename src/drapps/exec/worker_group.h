// The elastic pool of workers: one per process, shared by everything that has samples to prepare.
//
//   DRAPPS_RETURN_IF_ERROR(workers.attach(client, share));
//   workers.wake(items);  // whenever there is more to do
//   workers.detach(client);
//
// A client offers work by run_one(); idle workers sleep until somebody wakes them. The number of workers
// and each client's share may change at any moment: a worker that is no longer wanted finishes the sample
// in hand and ends. Threads start with the first client, have all signals blocked, and know no Python. Where the
// system makes no more of them, a new client is refused, and those that are there go on with the workers they have.
#pragma once

#include <pthread.h>

#include <condition_variable>
#include <cstdint>
#include <list>
#include <mutex>
#include <stop_token>
#include <string>
#include <vector>

#include "drapps/base/result.h"
#include "drapps/exec/cpu_budget.h"
#include "drapps/exec/service_thread.h"
#include "drapps/exec/worker_time.h"

namespace drapps {

/// Something that has samples to prepare.
class WorkerClient {
 public:
  virtual ~WorkerClient() = default;
  /// Takes an item and runs it, or some short ones, or says why there is none. Called by many workers at once.
  virtual WorkFound run_one() noexcept = 0;
  /// Releases the memory that it keeps for items to come, because another client has none. True where it works in
  /// more, which will come back later. From any thread.
  virtual bool release_idle() noexcept { return false; }
};

class WorkerGroup {
 public:
  WorkerGroup() = default;
  ~WorkerGroup();
  WorkerGroup(const WorkerGroup&) = delete;
  WorkerGroup& operator=(const WorkerGroup&) = delete;

  /// No more workers than this for all clients together, and no more CPU time than `cores`.
  void set_budget(std::int32_t max_workers, double cores) noexcept;

  /// `client` is served by up to `share` workers from now on. After an error (kResourceExhausted) it is not.
  Status attach(WorkerClient& client, std::int32_t share);
  void set_share(WorkerClient& client, std::int32_t share) noexcept;
  /// Returns when no worker is inside the client any more, nor will be.
  void detach(WorkerClient& client) noexcept;

  /// Tells sleeping workers that `items` more may be ready. Call it without holding a lock that run_one takes.
  void wake(std::size_t items = 1);

  /// Has every other client release_idle(); whether one of them said true. Call it without holding a lock that those
  /// take.
  bool release_idle(const WorkerClient& but);

  /// Workers alive now.
  std::int32_t size() const;
  /// Where the time of all workers went that were alive at any moment; reads the CPU clock of each that is now.
  WorkerTimes times() const;
  /// Why there are fewer workers than wanted; empty where there are not.
  std::string shortage() const;
  CpuBudget& cpu_budget() noexcept { return cpu_budget_; }

 private:
  struct ClientEntry {
    WorkerClient* client;
    std::int32_t share;
    std::int32_t inside;
  };

  /// A worker that is alive; on its thread's stack.
  struct Worker {
    WorkerClock clock;
    pthread_t thread;
    WorkerTimes read{};  // its times as they were read last
    Worker* next = nullptr;
  };

  void run(std::size_t id, const std::stop_token& stop);
  Status resize(std::unique_lock<std::mutex>& lock) noexcept;
  ClientEntry* find(const WorkerClient& client);
  WorkFound serve(std::unique_lock<std::mutex>& lock);
  void read(Worker& worker, std::uint64_t cpu_ns) const noexcept;

  CpuBudget cpu_budget_;
  mutable std::mutex mutex_;  // guards all below
  std::condition_variable_any work_;
  std::condition_variable_any left_;  // a worker left a client
  std::vector<ClientEntry> clients_;
  std::list<ServiceThread> threads_;
  std::size_t wanted_ = 0;  // workers with an id below this stay
  std::string shortage_;
  std::int32_t max_workers_ = 1;
  std::size_t turn_ = 0;     // client that is asked first next
  std::uint64_t wakes_ = 0;  // rises with every wake(), so that none is missed
  std::size_t asleep_ = 0;
  SleepReasons reasons_;
  Worker* workers_ = nullptr;
  WorkerTimes ended_;  // of workers that have ended
};

}  // namespace drapps
