#include "drapps/pipeline/engine.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "drapps/base/caught.h"
#include "drapps/base/never_destroyed.h"
#include "drapps/base/process_local.h"

namespace drapps {
namespace {

// Half of what the machine has free when the first loader is made; the rest is the model's and the page cache's.
constexpr double kDefaultRamShare = 0.5;
// Where a limit falls below what is in use, some is free again once the kernel has taken back what can be read anew.
constexpr std::size_t kLeastRamShare = 8;

constexpr std::chrono::seconds kWatchPeriod{1};

std::string& machine_root() {
  static const NeverDestroyed<std::string> root;
  return *root;
}

MachineSource this_machine() {
  MachineSource source{.root = machine_root()};
  source.affinity = scheduler_affinity(source, MaskOf::kProcess);
  // The watch looks from a thread of its own, where getenv() may meet a setenv() of the program's. So what the first
  // look has seen holds.
  source.environment =
      [seen = std::make_shared<std::map<std::string, std::optional<std::string>>>()](const char* name) -> const char* {
    const auto known = seen->find(name);
    if (known != seen->end()) return known->second ? known->second->c_str() : nullptr;
    const char* const value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): of the engine's maker alone
    const auto& kept = (*seen)[name] = value != nullptr ? std::optional<std::string>(value) : std::nullopt;
    return kept ? kept->c_str() : nullptr;
  };
  return source;
}

std::size_t default_ram(const MachineLimits& machine) {
  const std::size_t free = machine.available_bytes > 0 ? machine.available_bytes : machine.memory_bytes;
  return static_cast<std::size_t>(static_cast<double>(free) * kDefaultRamShare);
}

/// The default limit of a machine that has less memory than at first, where `used` bytes of it are the loaders'
/// already.
std::size_t default_ram_now(const MachineLimits& machine, std::size_t used) {
  const std::size_t free = std::min(machine.available_bytes + used, machine.memory_bytes);
  return std::max(static_cast<std::size_t>(static_cast<double>(free) * kDefaultRamShare),
                  machine.memory_bytes / kLeastRamShare);
}

}  // namespace

Status check_cores(double cores) {
  if (kLeastCores <= cores && cores <= kMostCores) return ok_status();
  return invalid("cpu_budget must be a number of cores from 0.0001 to 4096; leave it out for all that there are");
}

Engine& Engine::get() { return process_local<Engine>(); }

void Engine::read_machine_from(std::string root) { machine_root() = std::move(root); }

Engine::Engine()
    : maker_(getpid()),
      source_(this_machine()),
      at_first_(machine_limits(source_)),
      memory_(default_ram(at_first_)),
      accounts_{MemoryLedger(&memory_), MemoryLedger(&memory_), MemoryLedger(&memory_), MemoryLedger(&memory_)},
      cache_(memory(MemoryUse::kCache)),
      spare_arenas_(memory_),
      machine_(at_first_),
      ram_(memory_.limit()) {
  enforce();
}

std::unique_ptr<Engine::Limit> Engine::limit(const Budget& budget) {
  std::list<Budget> place{budget};
  std::unique_ptr<Limit> limit(new Limit(*this, place.begin()));
  const std::scoped_lock lock(mutex_);
  budgets_.splice(budgets_.end(), place);
  enforce();
  return limit;
}

Engine::Limit::~Limit() {
  if (getpid() != engine_.maker_) return;
  ServiceThread watch;  // which takes the lock, and is waited for without
  const std::scoped_lock lock(engine_.mutex_);
  engine_.budgets_.erase(place_);
  engine_.enforce();
  if (engine_.budgets_.empty()) watch = std::exchange(engine_.watch_, {});
}

void Engine::watch_machine() noexcept {
  const std::scoped_lock lock(mutex_);
  if (watch_.joinable() || budgets_.empty()) return;
  // The thread begins with the mask of whoever makes it, which may have been bound to a core by now: of it only a
  // change counts.
  auto started = catching([this] {
    return ServiceThread::start("drapps-limits", [this, inherited = scheduler_affinity(source_, MaskOf::kThread)](
                                                     const std::stop_token& stop) { watch(inherited, stop); });
  });
  unwatched_.clear();
  if (started.ok()) {
    watch_ = *std::move(started);
  } else {
    unwatched_ = std::move(started).error().message;
  }
}

void Engine::watch(const std::set<int>& inherited, const std::stop_token& stop) {
  // Where there is no memory for what the files say, the limits stay until the next look.
  static_cast<void>(catching([&] {
    std::mutex asleep;
    std::condition_variable_any ended;
    std::unique_lock sleep(asleep);
    while (!ended.wait_for(sleep, stop, kWatchPeriod, [&] { return stop.stop_requested(); })) {
      static_cast<void>(catching([&] { look_again(inherited); }));
    }
  }));
}

void Engine::look_again(const std::set<int>& inherited) {
  MachineSource source = source_;
  std::set<int> mask = scheduler_affinity(source_, MaskOf::kThread);
  if (mask != inherited) source.affinity = std::move(mask);
  const MachineLimits now = machine_limits(source);
  const std::scoped_lock lock(mutex_);
  const bool other_memory = now.memory_bytes != machine_.memory_bytes;
  if (now.cpus == machine_.cpus && now.affinity_cpus == machine_.affinity_cpus && !other_memory) return;
  machine_.cpus = now.cpus;
  machine_.affinity_cpus = now.affinity_cpus;
  machine_.quota_cpus = now.quota_cpus;
  if (other_memory) {
    machine_.memory_bytes = now.memory_bytes;
    machine_.available_bytes = now.available_bytes;
    machine_.cgroup_memory_bytes = now.cgroup_memory_bytes;
    const std::size_t at_first = default_ram(at_first_);
    ram_ =
        now.memory_bytes < at_first_.memory_bytes ? std::min(at_first, default_ram_now(now, memory_.used())) : at_first;
  }
  enforce();
}

MachineLimits Engine::machine() const {
  const std::scoped_lock lock(mutex_);
  return machine_;
}

std::vector<std::string> Engine::shortages() const {
  std::vector<std::string> all;
  if (const std::string why = workers_.shortage(); !why.empty()) {
    all.push_back("there are only " + std::to_string(workers_.size()) + " workers: " + why);
  }
  const std::scoped_lock lock(mutex_);
  if (!unwatched_.empty()) all.push_back("changes of the machine's limits are not seen: " + unwatched_);
  return all;
}

void Engine::enforce() noexcept {
  Budget smallest;
  for (const Budget& budget : budgets_) {
    if (budget.cpus) smallest.cpus = std::min(smallest.cpus.value_or(*budget.cpus), *budget.cpus);
    if (budget.bytes) smallest.bytes = std::min(smallest.bytes.value_or(*budget.bytes), *budget.bytes);
  }
  const double cpus = std::max(smallest.cpus.value_or(machine_.cpus), kLeastCores);
  cpus_ = cpus;
  // A budget that was named is not the machine's, unless that has come to have less.
  const bool fallen = machine_.memory_bytes < at_first_.memory_bytes;
  if (fallen && smallest.bytes && *smallest.bytes > machine_.memory_bytes) smallest.bytes.reset();
  memory_.set_limit(smallest.bytes.value_or(ram_));
  if (memory_.used() > memory_.limit()) cache_.release(memory_.used() - memory_.limit());
  // The kernel itself holds threads to the cores that they may run on; only less than that needs the token bucket.
  const bool fewer = cpus < machine_.affinity_cpus;
  workers_.set_budget(static_cast<std::int32_t>(std::ceil(cpus)), fewer ? cpus : CpuBudget::kUnlimited);
}

double Engine::cpu_budget() const {
  const std::scoped_lock lock(mutex_);
  return cpus_;
}

std::int32_t Engine::max_workers() const {
  const std::scoped_lock lock(mutex_);
  return std::max(1, static_cast<std::int32_t>(std::ceil(cpus_)));
}

}  // namespace drapps
