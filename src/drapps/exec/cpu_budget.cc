#include "drapps/exec/cpu_budget.h"

#include <algorithm>
#include <string>

namespace drapps {
namespace {

constexpr std::uint64_t kMagic = 0x6472'6170'7073'0c01;
constexpr std::uint64_t kBurstNs = 100'000'000;
constexpr double kMostNs = 3.6e12;  // of one pause: a number of cores near zero must not overflow the clock

}  // namespace

CpuBudget::CpuBudget() {
  if (auto file = SharedFile::make("drapps-cpu"); file.ok() && file->grow(sizeof(SharedBudget)).ok()) {
    if (auto mapping = file->map(0, sizeof(SharedBudget)); mapping.ok()) {
      file_ = *std::move(file);
      mapping_ = *std::move(mapping);
    }
  }
  if (!file_) own_ = std::make_unique<SharedBudget>();
  shared_ = file_ ? reinterpret_cast<SharedBudget*>(mapping_.data()) : own_.get();
  shared_->magic = kMagic;
  shared_->cores.store(kUnlimited, std::memory_order_relaxed);
}

Result<CpuBudget> CpuBudget::attach(int fd) {
  auto file = SharedFile::attach(fd);
  if (file.ok() && file->bytes() == sizeof(SharedBudget)) {
    auto mapping = file->map(0, sizeof(SharedBudget));
    if (!mapping.ok()) return std::move(mapping).error();
    CpuBudget attached(*std::move(mapping));
    if (attached.shared_->magic == kMagic) return attached;
  }
  return Error{.message = "descriptor " + std::to_string(fd) + " refers to no CPU budget"};
}

void CpuBudget::set_cores(double cores) noexcept {
  // What was booked under another limit is forgotten: it would be paid for at the wrong price.
  if (shared_->cores.exchange(cores, std::memory_order_relaxed) != cores) shared_->paid_ns = 0;
}

double CpuBudget::cores() const noexcept { return shared_->cores.load(std::memory_order_relaxed); }

std::chrono::nanoseconds CpuBudget::charge(std::uint64_t cpu_ns, std::uint64_t now_ns) noexcept {
  const double limit = cores();
  if (!(limit < kUnlimited)) return std::chrono::nanoseconds{0};
  const auto cost = static_cast<std::uint64_t>(std::min(static_cast<double>(cpu_ns) / limit, kMostNs));
  std::uint64_t paid = shared_->paid_ns.load(std::memory_order_relaxed);
  std::uint64_t next = 0;
  do {
    next = std::max(paid, now_ns - std::min(now_ns, kBurstNs)) + cost;
  } while (!shared_->paid_ns.compare_exchange_weak(paid, next, std::memory_order_relaxed));
  return std::chrono::nanoseconds{next > now_ns ? static_cast<std::int64_t>(next - now_ns) : 0};
}

}  // namespace drapps
