// What all loaders of a process share: one pool of workers, one memory ledger, one set of budgets.
//
//   Engine& engine = Engine::get();
//   auto limit = engine.limit({.cpus = 4});  // as long as it lives
//   engine.watch_machine();
#pragma once

#include <sys/types.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "drapps/base/machine.h"
#include "drapps/base/memory_ledger.h"
#include "drapps/base/result.h"
#include "drapps/cache/store.h"
#include "drapps/deliver/spare_arenas.h"
#include "drapps/exec/service_thread.h"
#include "drapps/exec/worker_group.h"

namespace drapps {

/// With fewer cores than the least no work would end; more than the most are meant as no limit, which is none.
inline constexpr double kLeastCores = 1e-4;
inline constexpr double kMostCores = 4096;
/// kInvalidArgument where that is no number of cores for a budget.
Status check_cores(double cores);

/// What a loader asks of the machine. Empty means what the machine gives.
struct Budget {
  std::optional<double> cpus;        // cores; see check_cores()
  std::optional<std::size_t> bytes;  // of RAM
};

/// What the bytes of the RAM budget are for; each is an account of the engine's memory.
enum class MemoryUse : std::uint8_t { kCache, kWorkspaces, kBatches, kProcesses };

struct MemoryAccount {
  std::string_view name;
  std::string_view releases;  // how it releases memory, for people
};

/// In the order of MemoryUse, which is that of releasing: whose memory is wanted first stands first.
inline constexpr std::array<MemoryAccount, 4> kMemoryAccounts{{
    {"cache", "drops what saves the least time per byte as soon as a batch or a worker finds no memory"},
    {"workspaces", "those of idle workers, where a sample finds no memory and nothing else is under way"},
    {"batches", "spare ones between two passes before all else; then fewer are prefetched"},
    {"processes", "nothing: what worker processes share is counted, and leaves less to the others"},
}};

class Engine {
 public:
  /// This process's engine (process_local.h).
  static Engine& get();
  /// For tests: engines that are made from now on look for /proc and /sys below `root`.
  static void read_machine_from(std::string root);
  Engine();

  /// While the returned object lives, `budget` holds for everything in this process together: of several the
  /// smallest wins. Kept by each loader.
  class Limit {
   public:
    ~Limit();
    Limit(const Limit&) = delete;
    Limit& operator=(const Limit&) = delete;

   private:
    friend class Engine;
    Limit(Engine& engine, std::list<Budget>::iterator place) : engine_(engine), place_(place) {}
    Engine& engine_;
    std::list<Budget>::iterator place_;
  };
  std::unique_ptr<Limit> limit(const Budget& budget);
  /// From now on until the last limit is gone, machine() is read again every second. For when work begins: it makes a
  /// thread. Without one the limits stay as they are, and a loader can do with that.
  void watch_machine() noexcept;

  WorkerGroup& workers() noexcept { return workers_; }
  const MemoryLedger& memory() const noexcept { return memory_; }
  MemoryLedger& memory(MemoryUse use) noexcept { return accounts_[static_cast<std::size_t>(use)]; }
  /// What is kept of records, for all loaders.
  cache::Store& cache() noexcept { return cache_; }
  /// Batch memory that passes left for the next ones.
  SpareArenas& spare_arenas() noexcept { return spare_arenas_; }
  /// What the machine gives. Of the cores that the process was allowed at first, quotas and cpusets may take away; a
  /// thread that was bound to a core takes nothing.
  MachineLimits machine() const;
  /// What there is less of than wanted, because the system made no thread for it: a sentence each.
  std::vector<std::string> shortages() const;
  /// Bytes that the machine and the cgroups have left now; looks.
  std::size_t available_memory() const { return machine_limits(source_).available_bytes; }
  /// idle_cpu_ns() of the cores that the process was allowed at first.
  std::uint64_t idle_cpu_ns() const { return drapps::idle_cpu_ns(source_); }
  pid_t maker() const noexcept { return maker_; }

  /// Counts what ends and has not released its memory yet: from begin() until it is destroyed.
  class Ending {
   public:
    Ending() = default;
    ~Ending() {
      if (engine_ != nullptr) engine_->ending_.fetch_sub(1);
    }
    Ending(const Ending&) = delete;
    Ending& operator=(const Ending&) = delete;
    void begin(Engine& engine) noexcept {
      engine_ = &engine;
      engine.ending_.fetch_add(1);
    }

   private:
    Engine* engine_ = nullptr;
  };
  /// Whether memory of what ends is about to come back.
  bool ending() const noexcept { return ending_.load() > 0; }

  /// Cores and bytes in force now.
  double cpu_budget() const;
  std::size_t ram_budget() const noexcept { return memory_.limit(); }
  /// Workers that the CPU budget allows: its cores, rounded up.
  std::int32_t max_workers() const;

 private:
  void enforce() noexcept;
  void watch(const std::set<int>& inherited, const std::stop_token& stop);
  void look_again(const std::set<int>& inherited);

  const pid_t maker_;
  const MachineSource source_;  // with the cores that the process was allowed at first
  const MachineLimits at_first_;
  MemoryLedger memory_;
  std::array<MemoryLedger, kMemoryAccounts.size()> accounts_;
  cache::Store cache_;
  SpareArenas spare_arenas_;
  WorkerGroup workers_;
  std::atomic<std::int32_t> ending_{0};

  mutable std::mutex mutex_;  // guards all below
  MachineLimits machine_;
  std::size_t ram_;  // the budget of bytes where none was named
  std::list<Budget> budgets_;
  double cpus_ = 1;
  ServiceThread watch_;
  std::string unwatched_;  // why there is no watch, where there should be one
};

}  // namespace drapps
