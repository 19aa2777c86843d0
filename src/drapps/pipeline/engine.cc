#include "drapps/pipeline/engine.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "drapps/base/process_local.h"

namespace drapps {
namespace {

// Half of what the machine has free when the first loader is made; the rest is the model's and the page cache's.
constexpr double kDefaultRamShare = 0.5;

std::size_t default_ram(const MachineLimits& machine) {
  const std::size_t free = machine.available_bytes > 0 ? machine.available_bytes : machine.memory_bytes;
  return static_cast<std::size_t>(static_cast<double>(free) * kDefaultRamShare);
}

}  // namespace

Engine& Engine::get() { return process_local<Engine>(); }

Engine::Engine() : maker_(getpid()), machine_(machine_limits()), memory_(default_ram(machine_)) { enforce(); }

std::unique_ptr<Engine::Claim> Engine::claim(const Budget& budget) {
  const std::scoped_lock lock(mutex_);
  budgets_.push_back(budget);
  enforce();
  return std::unique_ptr<Claim>(new Claim(*this, std::prev(budgets_.end())));
}

Engine::Claim::~Claim() {
  if (getpid() != engine_.maker_) return;
  const std::scoped_lock lock(engine_.mutex_);
  engine_.budgets_.erase(place_);
  engine_.enforce();
}

void Engine::enforce() {
  Budget smallest;
  for (const Budget& budget : budgets_) {
    if (budget.cpus) smallest.cpus = std::min(smallest.cpus.value_or(*budget.cpus), *budget.cpus);
    if (budget.bytes) smallest.bytes = std::min(smallest.bytes.value_or(*budget.bytes), *budget.bytes);
  }
  const double cpus = smallest.cpus.value_or(machine_.cpus);
  cpus_ = cpus;
  memory_.set_limit(smallest.bytes.value_or(default_ram(machine_)));
  // The kernel itself holds threads to the machine's cores; only less than that needs the token bucket.
  workers_.set_budget(static_cast<std::int32_t>(std::ceil(cpus)), cpus < machine_.cpus ? cpus : CpuBudget::kUnlimited);
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
