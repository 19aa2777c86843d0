#include "drapps/exec/cpu_budget.h"

#include <algorithm>
#include <cmath>

namespace drapps {
namespace {

constexpr double kBurstNs = 1e8;

}  // namespace

void CpuBudget::set_cores(double cores) noexcept {
  const std::scoped_lock lock(mutex_);
  cores_ = cores;
  debt_ns_ = 0;
}

double CpuBudget::cores() const noexcept {
  const std::scoped_lock lock(mutex_);
  return cores_;
}

std::chrono::nanoseconds CpuBudget::charge(std::uint64_t cpu_ns, std::uint64_t now_ns) noexcept {
  const std::scoped_lock lock(mutex_);
  if (!std::isfinite(cores_)) return std::chrono::nanoseconds{0};
  const double elapsed = now_ns > last_ns_ ? static_cast<double>(now_ns - last_ns_) : 0.0;
  last_ns_ = std::max(last_ns_, now_ns);
  debt_ns_ = std::max(debt_ns_ - elapsed * cores_, -kBurstNs * cores_) + static_cast<double>(cpu_ns);
  return std::chrono::nanoseconds{debt_ns_ > 0 ? static_cast<std::int64_t>(debt_ns_ / cores_) : 0};
}

}  // namespace drapps
