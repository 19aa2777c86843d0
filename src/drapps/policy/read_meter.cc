#include "drapps/policy/read_meter.h"

#include <algorithm>
#include <cmath>

#include "drapps/plant/knob_range.h"

namespace drapps {
namespace {

// The margin of reads over the product of two means. The CPU time of the first second's samples is up to 1.7 times that
// of later ones, and what is even on average is not even at each moment; reads too many cost their buffers, too few
// cost the rate.
constexpr double kMargin = 2.5;
constexpr std::uint64_t kLeastSteps = 4;  // from which the consumer's pace is known
constexpr double kSecondNs = 1e9;

/// CPU seconds that a sample takes on its way through all lanes in use; 0 where some lane has not had any.
double cpu_seconds(const Observation& seen) noexcept {
  double ns = 0;
  for (const LaneObservation& lane : seen.lanes) {
    if (!lane.valid) continue;
    if (lane.service_cpu.count == 0) return 0;
    ns += static_cast<double>(lane.service_cpu.sum) / static_cast<double>(lane.service_cpu.count);
  }
  return ns / kSecondNs;
}

/// Brings a knob to the smallest allowed value that is no less than `wanted`, where it stands below that.
void raise(Settings& settings, KnobId id, double wanted, const Limits& limits) noexcept {
  const KnobRange range = range_of(id, limits);
  while (settings[id] < wanted && settings[id] < range.high()) settings[id] = range.up(settings[id]);
}

}  // namespace

ReadMark read_mark(const Observation& seen) noexcept {
  const Spread& reads = seen.storage.waited;
  const Spread& steps = seen.consumer.step;
  return {reads.count, reads.sum, seen.samples, steps.count, steps.sum, seen.consumer.stall.sum, seen.storage.refusals};
}

bool is_another(const ReadMark& now, const ReadMark& before) noexcept {
  return now.reads < before.reads || now.read_ns < before.read_ns || now.steps < before.steps ||
         now.step_ns < before.step_ns || now.stall_ns < before.stall_ns || now.refusals < before.refusals;
}

std::optional<ReadMeter> meter_reads(const ReadMark& since, const Observation& seen, const Limits& limits) noexcept {
  const ReadMark now = read_mark(seen);
  const double cpu = cpu_seconds(seen);
  if (now.reads - since.reads < kMeteredReads || cpu <= 0 || seen.batches == 0 || seen.samples == 0) return {};
  const double workers = seen.settings[KnobId::kWorkers];
  ReadMeter meter{};
  meter.rows = static_cast<double>(seen.samples) / static_cast<double>(seen.batches);
  meter.rate = (limits.cpus > 0 ? std::min(workers, limits.cpus) : workers) / cpu;
  const auto steps = static_cast<double>(now.steps - since.steps);
  const double own =
      (static_cast<double>(now.step_ns - since.step_ns) - static_cast<double>(now.stall_ns - since.stall_ns)) /
      kSecondNs;
  if (steps >= kLeastSteps && own > 0) meter.rate = std::min(meter.rate, steps * meter.rows / own);
  if (!seen.lanes[lane_place(LaneRole::kFetch)].valid && now.samples > since.samples) {
    meter.reads_each = static_cast<double>(now.reads - since.reads) / static_cast<double>(now.samples - since.samples);
  }
  meter.latency_s =
      static_cast<double>(now.read_ns - since.read_ns) / kSecondNs / static_cast<double>(now.reads - since.reads);
  return meter;
}

Settings deep_enough(const Settings& settings, const ReadMeter& metered, const Limits& limits) noexcept {
  Settings wanted = settings;
  raise(wanted, KnobId::kIoDepth, metered.reads() * kMargin, limits);
  raise(wanted, KnobId::kPrefetchDepth,
        std::ceil(wanted[KnobId::kIoDepth] / (metered.rows * std::max(1.0, metered.reads_each))) + 1, limits);
  return wanted;
}

}  // namespace drapps
