// What all loaders of a process share: one pool of workers, one memory ledger, one set of budgets.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <list>
#include <memory>
#include <mutex>
#include <optional>

#include "drapps/base/machine.h"
#include "drapps/base/memory_ledger.h"
#include "drapps/deliver/parked_arenas.h"
#include "drapps/exec/worker_group.h"

namespace drapps {

/// What a loader asks of the machine. Empty means what the machine gives.
struct Budget {
  std::optional<double> cpus;        // cores; > 0
  std::optional<std::size_t> bytes;  // of RAM
};

class Engine {
 public:
  /// This process's engine (process_local.h).
  static Engine& get();
  Engine();

  /// While the returned object lives, `budget` holds for everything in this process together: of several the
  /// smallest wins. Kept by each loader.
  class Claim {
   public:
    ~Claim();
    Claim(const Claim&) = delete;
    Claim& operator=(const Claim&) = delete;

   private:
    friend class Engine;
    Claim(Engine& engine, std::list<Budget>::iterator place) : engine_(engine), place_(place) {}
    Engine& engine_;
    std::list<Budget>::iterator place_;
  };
  std::unique_ptr<Claim> claim(const Budget& budget);

  WorkerGroup& workers() noexcept { return workers_; }
  MemoryLedger& memory() noexcept { return memory_; }
  const MemoryLedger& memory() const noexcept { return memory_; }
  /// Batch memory that passes left for the next ones: nobody's need goes before theirs.
  ParkedArenas& parked() noexcept { return parked_; }
  const ParkedArenas& parked() const noexcept { return parked_; }
  /// Has everybody give back memory that is not in use, but the one who asks. Whether more comes back later. Call it
  /// without a lock that a client of the workers takes.
  bool release_idle(const WorkerClient& but) {
    parked_.trim();
    return workers_.release_idle(but);
  }
  const MachineLimits& machine() const noexcept { return machine_; }
  pid_t maker() const noexcept { return maker_; }

  /// Cores and bytes in force now.
  double cpu_budget() const;
  std::size_t ram_budget() const noexcept { return memory_.limit(); }
  /// Workers that the CPU budget allows: its cores, rounded up.
  std::int32_t max_workers() const;

 private:
  void enforce();

  const pid_t maker_;
  const MachineLimits machine_;
  MemoryLedger memory_;
  ParkedArenas parked_;
  WorkerGroup workers_;

  mutable std::mutex mutex_;  // guards all below
  std::list<Budget> budgets_;
  double cpus_ = 1;
};

}  // namespace drapps
