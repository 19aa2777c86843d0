#include "drapps/exec/cpu_budget.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

namespace drapps {
namespace {

constexpr std::uint64_t kMagic = 0x6472'6170'7073'0c01;
constexpr std::uint64_t kBurstNs = 100'000'000;
constexpr double kMostNs = 3.6e12;  // of one pause: a number of cores near zero must not overflow the clock

}  // namespace

CpuBudget::CpuBudget() : fd_(memfd_create("drapps-cpu", MFD_CLOEXEC)) {
  if (fd_ && ftruncate(fd_.get(), sizeof(Shared)) == 0) shared_ = map(fd_.get());
  if (shared_ == nullptr) {
    fd_.reset();
    own_ = true;
    shared_ = new Shared{};
  }
  shared_->magic = kMagic;
  shared_->cores.store(kUnlimited, std::memory_order_relaxed);
}

Result<CpuBudget> CpuBudget::attach(int fd) {
  struct stat about{};
  Shared* shared = nullptr;
  if (fstat(fd, &about) == 0 && about.st_size == sizeof(Shared)) shared = map(fd);
  if (shared != nullptr && shared->magic == kMagic) return CpuBudget(shared);
  if (shared != nullptr) munmap(shared, sizeof(Shared));
  return Error{.message = "descriptor " + std::to_string(fd) + " refers to no CPU budget"};
}

CpuBudget::~CpuBudget() {
  if (shared_ == nullptr) return;
  if (own_) {
    delete shared_;
  } else {
    munmap(shared_, sizeof(Shared));
  }
}

CpuBudget::Shared* CpuBudget::map(int fd) noexcept {
  void* const at = mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  return at == MAP_FAILED ? nullptr : static_cast<Shared*>(at);
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
