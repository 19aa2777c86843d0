#include "drapps/meter/residency_meter.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "drapps/base/philox.h"

namespace drapps {
namespace {

constexpr std::uint64_t kResidencyMinuteNs = 60'000'000'000;
constexpr std::uint64_t kLookEveryNs = kResidencyMinuteNs / ResidencyMeter::kSample;
constexpr std::uint64_t kOldestLookNs = 2 * kResidencyMinuteNs;
constexpr int kMostLooks = 4;
constexpr std::uint64_t kFewestSeen = 8;

}  // namespace

ResidencyMeter::ResidencyMeter(std::uint64_t count, std::function<std::string(std::uint64_t)> path_of,
                               std::uint64_t seed)
    : count_(std::min<std::uint64_t>(count, std::numeric_limits<std::uint32_t>::max())),
      path_of_(std::move(path_of)),
      seed_(seed) {}

void ResidencyMeter::look(std::uint64_t now_ns) {
  Draws draws({.seed = seed_, .position = looks_}, 0);
  const std::string path = path_of_(draws.below(static_cast<std::uint32_t>(count_)));
  const ResidencyLook seen = path.empty() ? ResidencyLook{} : look_at_residency(path, draws.uniform());
  latest_[looks_++ % kSample] = {seen, now_ns};
}

bool ResidencyMeter::is_any_seen() const noexcept {
  return std::any_of(latest_.begin(), latest_.end(),
                     [](const Look& look) { return look.outcome == ResidencyLook::LookOutcome::kSeen; });
}

ResidencyReadings ResidencyMeter::read(std::uint64_t now_ns) {
  if (count_ == 0) return {};
  if (looks_ == 0) next_ns_ = now_ns - std::min(now_ns, (kMostLooks - 1) * kLookEveryNs);
  for (int i = 0; i < kMostLooks && next_ns_ <= now_ns; ++i) {
    look(now_ns);
    next_ns_ = looks_ < kFewestSeen || is_any_seen() ? next_ns_ + kLookEveryNs : now_ns + kResidencyMinuteNs;
  }
  if (next_ns_ <= now_ns) next_ns_ = now_ns + kLookEveryNs;  // what was missed is not made up for

  std::uint64_t seen = 0, not_told = 0;
  double bytes = 0, resident = 0;
  for (const Look& look : latest_) {
    if (look.time_ns + kOldestLookNs < now_ns) continue;
    if (look.outcome == ResidencyLook::LookOutcome::kNotTold) ++not_told;
    if (look.outcome != ResidencyLook::LookOutcome::kSeen) continue;
    ++seen;
    bytes += static_cast<double>(look.bytes);
    resident += static_cast<double>(look.bytes) * look.resident;
  }
  if (seen < kFewestSeen || 10 * not_told > seen + not_told) return {};
  return {reading(resident / bytes, now_ns)};
}

}  // namespace drapps
