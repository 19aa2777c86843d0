#include "drapps/policy/start.h"

#include <algorithm>
#include <cmath>
#include <cstdarg>

#include "drapps/plant/knob_range.h"

namespace drapps {
namespace {

// Of reads, over the product of two means. The CPU time of the first second's samples is up to 1.7 times that of later
// ones, and what is even on average is not even at each moment; reads too many cost their buffers, too few cost the
// rate.
constexpr double kMargin = 2.5;
constexpr std::uint32_t kMostAsked = 30;  // decisions for the guard to let the knobs move
constexpr std::uint64_t kLeastSteps = 4;  // from which the consumer's pace is known
constexpr double kNs = 1e9;

Start::Mark mark_of(const Observation& seen) {
  const Spread& reads = seen.storage.waited;
  const Spread& steps = seen.consumer.step;
  return {reads.count, reads.sum, steps.count, steps.sum, seen.consumer.stall.sum, seen.storage.refusals};
}

/// CPU seconds that a sample takes on its way through all lanes in use; 0 where some lane has not had any.
double cpu_seconds(const Observation& seen) {
  double ns = 0;
  for (const LaneObservation& lane : seen.lanes) {
    if (!lane.valid) continue;
    if (lane.service_cpu.count == 0) return 0;
    ns += static_cast<double>(lane.service_cpu.sum) / static_cast<double>(lane.service_cpu.count);
  }
  return ns / kNs;
}

/// Brings a knob to the smallest allowed value that is no less than `wanted`, where it stands below that.
void raise(Settings& settings, KnobId id, double wanted, const Limits& limits) {
  const KnobRange range = range_of(id, limits);
  while (settings[id] < wanted && settings[id] < range.high()) settings[id] = range.up(settings[id]);
}

[[gnu::format(printf, 2, 3)]] void say(PolicyState& state, const char* format, ...) {
  std::va_list values;
  va_start(values, format);
  state.why = Reason::format(format, values);
  va_end(values);
}

/// From the counts to what was metered. False where they say too little.
bool meter(Start& start, const Observation& seen, const Limits& limits) {
  const Start::Mark now = mark_of(seen);
  const double cpu = cpu_seconds(seen);
  if (now.reads - start.mark.reads < kMeteredReads || cpu <= 0 || seen.batches == 0) return false;
  const double workers = seen.settings[KnobId::kWorkers];
  start.rows = static_cast<double>(seen.samples) / static_cast<double>(seen.batches);
  start.rate = (limits.cpus > 0 ? std::min(workers, limits.cpus) : workers) / cpu;
  const auto steps = static_cast<double>(now.steps - start.mark.steps);
  const double own = (static_cast<double>(now.step_ns - start.mark.step_ns) -
                      static_cast<double>(now.stall_ns - start.mark.stall_ns)) /
                     kNs;
  if (steps >= kLeastSteps && own > 0) start.rate = std::min(start.rate, steps * start.rows / own);
  start.latency_s =
      static_cast<double>(now.read_ns - start.mark.read_ns) / kNs / static_cast<double>(now.reads - start.mark.reads);
  return start.rows > 0;
}

}  // namespace

std::optional<Settings> start_depths(Start& start, const Observation& observation, PolicyState& state) {
  if (start.phase == Start::Phase::kMeter) {
    const Start::Mark now = mark_of(observation);
    const Start::Mark& mark = start.mark;
    const bool another = now.reads < mark.reads || now.read_ns < mark.read_ns || now.steps < mark.steps ||
                         now.step_ns < mark.step_ns || now.stall_ns < mark.stall_ns;  // it is another plant
    if (mark.reads == 0 || another) {
      start.mark = now;
      return std::nullopt;
    }
    if (!meter(start, observation, state.limits)) return std::nullopt;
    start.phase = Start::Phase::kMove;
    if (now.refusals > start.mark.refusals) {
      start.phase = Start::Phase::kEnded;
      say(state, "the storage has refused %llu requests: io_depth stays",
          static_cast<unsigned long long>(now.refusals - start.mark.refusals));
      return observation.settings;
    }
  }
  if (start.phase == Start::Phase::kEnded) return std::nullopt;

  Settings wanted = observation.settings;
  const double reads = start.rate * start.latency_s;
  raise(wanted, KnobId::kIoDepth, reads * kMargin, state.limits);
  raise(wanted, KnobId::kPrefetchDepth, std::ceil(wanted[KnobId::kIoDepth] / start.rows) + 1, state.limits);
  if (wanted == observation.settings || ++start.asked > kMostAsked) {
    start.phase = Start::Phase::kEnded;
    return std::nullopt;
  }
  say(state, "%.0f samples/s, whose reads take %.2f ms, are %.1f reads at once", start.rate, start.latency_s * 1e3,
      reads);
  return wanted;
}

}  // namespace drapps
