#include "drapps/worker/process_times.h"

#include <algorithm>
#include <numeric>
#include <thread>

#include "drapps/base/clock.h"

namespace drapps {
namespace {

constexpr int kTimesLooks = 1000;
// Time by which CPU time may exceed what the cores can give: the clocks are read one after the other.
constexpr std::uint64_t kCpuSlackNs = 1'000'000'000;

}  // namespace

std::uint64_t ProcessTimes::wall_ns() const noexcept {
  return std::accumulate(activity_ns.begin(), activity_ns.end(), std::uint64_t{0});
}

void ProcessTimes::not_before(const ProcessTimes& before) noexcept {
  for (std::size_t i = 0; i < kActivities; ++i) activity_ns[i] = std::max(activity_ns[i], before.activity_ns[i]);
  python_cpu_ns = std::max(python_cpu_ns, before.python_cpu_ns);
}

std::optional<ProcessTimes> read_times(const ProcessEntry& process) noexcept {
  const auto get = [](const auto& word) { return word.load(std::memory_order_acquire); };
  for (int look = 0; look < kTimesLooks; ++look) {
    const std::uint64_t sequence = get(process.sequence);
    if (sequence % 2 != 0) continue;
    ProcessTimes times;
    for (std::size_t i = 0; i < kActivities; ++i) times.activity_ns[i] = get(process.ended_ns[i]);
    times.python_cpu_ns = get(process.python_cpu_ns);
    const std::uint64_t attached = get(process.attached_ns);
    const std::uint64_t since = get(process.since_ns);
    const std::uint64_t cpu_at = get(process.cpu_at_ns);
    const auto activity = static_cast<std::size_t>(get(process.activity));
    const std::uint64_t cpu = get(process.cpu_ns);
    const std::uint64_t now = monotonic_ns();
    if (process.sequence.load(std::memory_order_relaxed) != sequence) continue;
    // Each change adds to one of the activities what it adds to `since`.
    if (attached == 0 || activity >= kActivities || times.wall_ns() != since - attached) return std::nullopt;
    times.activity_ns[activity] += now - std::min(now, since);
    if (cpu_at < cpu) times.python_cpu_ns += cpu - cpu_at;
    const std::uint64_t most_cores = std::max(std::thread::hardware_concurrency(), 1u);
    if (times.python_cpu_ns / most_cores > times.python_ns() + kCpuSlackNs) return std::nullopt;
    return times;
  }
  return std::nullopt;
}

}  // namespace drapps
