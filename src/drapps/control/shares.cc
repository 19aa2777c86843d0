#include "drapps/control/shares.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "drapps/base/process_local.h"

namespace drapps {
namespace {

constexpr std::uint64_t kLookNs = 1'000'000'000;
constexpr double kWaits = 0.1;  // share of the time from which on a consumer counts as waiting
constexpr double kAllItCanGet = std::numeric_limits<double>::infinity();
constexpr double kNoChange = 0.1;  // of the budget
// After so long without a decision, nobody waits for the end of a loader's trial: its consumer is busy elsewhere.
constexpr std::uint64_t kAwayNs = 10'000'000'000;
constexpr std::uint64_t kPatienceNs = 30'000'000'000;  // with who has its turn and does not begin

}  // namespace

Shares& Shares::of_process() { return process_local<Shares>(); }

void Shares::observe(const void* who, const PlantCounters& seen) {
  const std::scoped_lock lock(mutex_);
  if (seen.finished) {
    members_.erase(who);
    return;
  }
  MemberLoader& member = members_[who];
  const std::uint64_t then = member.seen_ns;
  if (then != 0 && seen.time_ns >= then && seen.time_ns - then < kLookNs) return;
  if (then != 0 && seen.time_ns > then && seen.cpu_ns >= member.cpu_ns && seen.stall_ns >= member.stall_ns) {
    const auto past = static_cast<double>(seen.time_ns - then);
    const bool waits = static_cast<double>(seen.stall_ns - member.stall_ns) > kWaits * past;
    member.need = waits ? kAllItCanGet : static_cast<double>(seen.cpu_ns - member.cpu_ns) / past;
  }
  member.seen_ns = seen.time_ns;
  member.cpu_ns = seen.cpu_ns;
  member.stall_ns = seen.stall_ns;
}

double Shares::cores(const void* who, double budget) {
  const std::scoped_lock lock(mutex_);
  std::vector<double> needs;
  for (const auto& [other, member] : members_) {
    if (other != who) needs.push_back(member.need);
  }
  std::ranges::sort(needs);
  double left = budget;
  std::size_t sharers = needs.size() + 1;
  for (const double need : needs) {
    if (need >= left / static_cast<double>(sharers)) break;
    left -= need;
    --sharers;
  }
  const double share = left / static_cast<double>(sharers);
  const auto entry = members_.find(who);
  if (entry == members_.end()) return share;
  MemberLoader& member = entry->second;
  if (member.budget != budget || std::abs(share - member.cores) >= kNoChange * budget) {
    member.budget = budget;
    member.cores = share;
  }
  return member.cores;
}

Turn Shares::turn(const void* who, std::uint64_t now_ns) const {
  const std::scoped_lock lock(mutex_);
  const auto entry = members_.find(who);
  const MemberLoader mine = entry == members_.end() ? MemberLoader{} : entry->second;
  const bool tries = mine.trying == Trying::kTries && now_ns <= mine.noted_ns + kAwayNs;
  Turn turn = Turn::kOpen;
  for (const auto& [other, member] : members_) {
    if (other == who || member.trying == Trying::kNot || now_ns > member.noted_ns + kAwayNs) continue;
    if (member.trying == Trying::kTries) {
      if (!tries) return Turn::kTaken;
    } else if (mine.trying != Trying::kWaits || mine.since_ns > member.since_ns) {
      turn = Turn::kAsked;
    }
  }
  return turn;
}

void Shares::note(const void* who, Trying trying, std::uint64_t now_ns) {
  const std::scoped_lock lock(mutex_);
  MemberLoader& member = members_[who];
  if (trying != member.trying) member.since_ns = now_ns;
  member.trying = trying;
  member.noted_ns = now_ns;
  const void* next = nullptr;
  std::uint64_t since_ns = std::numeric_limits<std::uint64_t>::max();
  for (const auto& [each, waiting] : members_) {
    if (waiting.trying != Trying::kWaits || waiting.since_ns >= since_ns) continue;
    next = each;
    since_ns = waiting.since_ns;
  }
  if (std::exchange(next_, next) != next) next_since_ns_ = now_ns;
  if (who == next && now_ns > next_since_ns_ + kPatienceNs) member.since_ns = now_ns;
}

void Shares::leave(const void* who) noexcept {
  const std::scoped_lock lock(mutex_);
  members_.erase(who);
}

}  // namespace drapps
