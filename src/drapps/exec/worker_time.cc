#include "drapps/exec/worker_time.h"

#include <algorithm>
#include <numeric>

namespace drapps {
namespace {

constinit thread_local std::array<CpuSampler, kLanes.size()> cpu_of_lanes{};

// A change takes some tens of nanoseconds, unless the thread loses its core in the middle of it.
constexpr int kLooks = 1000;

}  // namespace

constinit thread_local WorkerClock* WorkerClock::mine_ = nullptr;

std::uint64_t WorkerTimes::parts_ns() const noexcept {
  const std::uint64_t asleep = std::accumulate(waited_ns.begin(), waited_ns.end(), std::uint64_t{0});
  return std::accumulate(lanes.begin(), lanes.end(), asleep + paused_ns + other_ns,
                         [](std::uint64_t sum, const LaneTime& lane) { return sum + lane.wall_ns; });
}

WorkerTimes& WorkerTimes::operator+=(const WorkerTimes& other) noexcept {
  wall_ns += other.wall_ns;
  for (std::size_t i = 0; i < kReasons; ++i) waited_ns[i] += other.waited_ns[i];
  paused_ns += other.paused_ns;
  other_ns += other.other_ns;
  for (std::size_t i = 0; i < kLanes.size(); ++i) lanes[i] += other.lanes[i];
  cpu_ns += other.cpu_ns;
  return *this;
}

void WorkerTimes::not_before(const WorkerTimes& before) noexcept {
  const auto raise = [](std::uint64_t& now, std::uint64_t then) { now = std::max(now, then); };
  for (std::size_t i = 0; i < kReasons; ++i) raise(waited_ns[i], before.waited_ns[i]);
  raise(paused_ns, before.paused_ns);
  raise(other_ns, before.other_ns);
  for (std::size_t i = 0; i < kLanes.size(); ++i) {
    raise(lanes[i].wall_ns, before.lanes[i].wall_ns);
    raise(lanes[i].cpu_ns, before.lanes[i].cpu_ns);
  }
  raise(cpu_ns, before.cpu_ns);
  wall_ns = parts_ns();
}

void SleepReasons::change(WorkFound reason, std::uint64_t now_ns) noexcept {
  ended_ = at(now_ns);
  since_ns_ = now_ns;
  reason_ = reason;
}

SleepReasons::Totals SleepReasons::at(std::uint64_t now_ns) const noexcept {
  Totals totals = ended_;
  totals[static_cast<std::size_t>(reason_)] += now_ns - std::min(now_ns, since_ns_);
  return totals;
}

WorkerClock::WorkerClock() noexcept {
  since_ns_.store(monotonic_ns(), std::memory_order_relaxed);
  mine_ = this;
}

/// The clock is read within the change: what a reader has seen before is of an earlier moment.
std::uint64_t WorkerClock::begin_change() noexcept {
  sequence_.store(sequence_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  return monotonic_ns();
}

void WorkerClock::end_change() noexcept {
  sequence_.store(sequence_.load(std::memory_order_relaxed) + 1, std::memory_order_release);
}

void WorkerClock::change_part(Part part, std::uint64_t now, std::uint64_t cpu_at_ns) noexcept {
  add(ended_ns_[part_.load(std::memory_order_relaxed)], now - since_ns_.load(std::memory_order_relaxed));
  part_.store(part, std::memory_order_release);
  since_ns_.store(now, std::memory_order_release);
  cpu_at_ns_.store(cpu_at_ns, std::memory_order_release);
}

std::uint64_t WorkerClock::enter(Part part) noexcept {
  const std::uint64_t now = begin_change();
  change_part(part, now);
  end_change();
  return now;
}

std::uint64_t WorkerClock::enter_lane(std::size_t place, std::uint64_t cpu_ns) noexcept {
  const std::uint64_t now = begin_change();
  change_part(lane(place), now, cpu_ns);
  end_change();
  return now;
}

std::uint64_t WorkerClock::leave_lane(std::uint64_t spent_ns) noexcept {
  const std::uint64_t now = begin_change();
  book_lane(now, spent_ns);
  return now;
}

LaneTime WorkerClock::leave_lane(CpuSampler& sampler, std::uint64_t spent_ns) noexcept {
  const std::uint64_t now = begin_change();
  const std::uint64_t wall = now - since_ns_.load(std::memory_order_relaxed);
  const std::uint64_t cpu = sampler.end(spent_ns, wall);
  book_lane(now, cpu);
  return {.wall_ns = wall, .cpu_ns = cpu};
}

void WorkerClock::book_lane(std::uint64_t now, std::uint64_t spent_ns) noexcept {
  add(cpu_ns_[part_.load(std::memory_order_relaxed) - lane(0)], spent_ns);
  change_part(kOther, now);
  end_change();
}

void WorkerClock::sleep(const SleepReasons& reasons) noexcept {
  const std::uint64_t now = begin_change();
  const SleepReasons::Totals at = reasons.at(now);
  for (std::size_t i = 0; i < kReasons; ++i) reasons_at_[i].store(at[i], std::memory_order_release);
  change_part(kAsleep, now);
  end_change();
}

void WorkerClock::wake(const SleepReasons& reasons) noexcept {
  const std::uint64_t now = begin_change();
  const SleepReasons::Totals at = reasons.at(now);
  for (std::size_t i = 0; i < kReasons; ++i) {
    add(slept_ns_[i], at[i] - reasons_at_[i].load(std::memory_order_relaxed));
  }
  change_part(kOther, now);
  end_change();
}

std::optional<WorkerTimes> WorkerClock::read(const SleepReasons& reasons, std::uint64_t cpu_ns) const noexcept {
  const auto get = [](const Word& word) { return word.load(std::memory_order_acquire); };
  for (int look = 0; look < kLooks; ++look) {
    const std::uint64_t sequence = get(sequence_);
    if (sequence % 2 != 0) continue;
    WorkerTimes times;
    times.cpu_ns = cpu_ns;
    std::array<std::uint64_t, kParts> parts;
    for (std::size_t i = 0; i < kParts; ++i) parts[i] = get(ended_ns_[i]);
    for (std::size_t i = 0; i < kReasons; ++i) times.waited_ns[i] = get(slept_ns_[i]);
    for (std::size_t i = 0; i < kLanes.size(); ++i) times.lanes[i].cpu_ns = get(cpu_ns_[i]);
    const Part part = get(part_);
    const std::uint64_t since = get(since_ns_);
    const std::uint64_t cpu_at = get(cpu_at_ns_);
    const std::uint64_t now = std::max(monotonic_ns(), since);
    if (part == kAsleep) {
      const SleepReasons::Totals at = reasons.at(now);
      for (std::size_t i = 0; i < kReasons; ++i) times.waited_ns[i] += at[i] - get(reasons_at_[i]);
    }
    if (sequence_.load(std::memory_order_relaxed) != sequence) continue;
    parts[part] += now - since;
    if (part >= lane(0) && cpu_at < cpu_ns) times.lanes[part - lane(0)].cpu_ns += cpu_ns - cpu_at;
    times.waited_ns[static_cast<std::size_t>(WorkFound::kStorage)] += parts[kStorage];
    times.paused_ns = parts[kPaused];
    times.other_ns = parts[kOther];
    for (std::size_t i = 0; i < kLanes.size(); ++i) times.lanes[i].wall_ns = parts[lane(i)];
    times.wall_ns = times.parts_ns();
    return times;
  }
  return std::nullopt;
}

LaneTimer::LaneTimer(std::size_t place) noexcept
    : sampler_(cpu_of_lanes[place]),
      begun_cpu_ns_(sampler_.begin()),
      begun_ns_(WorkerClock::mine() != nullptr ? WorkerClock::mine()->enter_lane(place, begun_cpu_ns_)
                                               : monotonic_ns()) {}

LaneTime LaneTimer::end() noexcept {
  ended_ = true;
  WorkerClock* const mine = WorkerClock::mine();
  // The CPU clock is read before the change: a thread is likely to lose its core in a call of the system.
  const std::uint64_t spent = CpuSampler::spent(begun_cpu_ns_);
  if (mine != nullptr) return mine->leave_lane(sampler_, spent);
  const std::uint64_t wall = monotonic_ns() - begun_ns_;
  return {.wall_ns = wall, .cpu_ns = sampler_.end(spent, wall)};
}

}  // namespace drapps
