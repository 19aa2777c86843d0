#include "drapps/control/simulation.h"

#include <algorithm>
#include <utility>

#include "drapps/control/learning_decider.h"
#include "drapps/policy/initial.h"
#include "drapps/sim/fluid_plant.h"

namespace drapps::sim {
namespace {

constexpr double kTick = 0.1;  // s: as often the control thread looks whether a decision is due
constexpr double kPercentile = 0.95;

/// Waits of batches, all of a tick alike.
class Waits {
 public:
  void add(double batches, double seconds) {
    if (batches > 0) waits_.emplace_back(seconds / batches, batches);
  }
  double mean() const {
    double sum = 0;
    for (const auto& [wait, batches] : waits_) sum += wait * batches;
    return batches() > 0 ? sum / batches() : 0;
  }
  double percentile() {
    std::ranges::sort(waits_);
    double left = batches() * kPercentile;
    for (const auto& [wait, batches] : waits_) {
      left -= batches;
      if (left <= 0) return wait;
    }
    return waits_.empty() ? 0 : waits_.back().first;
  }

 private:
  double batches() const {
    double sum = 0;
    for (const auto& each : waits_) sum += each.second;
    return sum;
  }

  std::vector<std::pair<double, double>> waits_;
};

Totals less(const Totals& now, const Totals& before) {
  return {.seconds = now.seconds - before.seconds,
          .samples = now.samples - before.samples,
          .output = now.output - before.output,
          .steps = now.steps - before.steps,
          .stall = now.stall - before.stall,
          .gpu_idle = now.gpu_idle - before.gpu_idle,
          .core = now.core - before.core,
          .joules = now.joules - before.joules,
          .cost = now.cost - before.cost,
          .memory = now.memory};
}

std::uint64_t moved(const Settings& a, const Settings& b) {
  std::uint64_t count = a.lane_weights != b.lane_weights ? 1 : 0;
  for (std::size_t i = 0; i < kKnobs; ++i) count += a.knobs[i] != b.knobs[i] ? 1 : 0;
  return count;
}

/// Whether a decision is due, as Client says of a live plant.
class Pace {
 public:
  bool due(const PlantCounters& now, const KnobClock& pace) {
    const std::uint64_t count = pace.counted == Counted::kSamples ? now.samples : now.batches;
    const std::uint64_t before = pace.counted == Counted::kSamples ? last_.samples : last_.batches;
    if (now.time_ns - last_.time_ns < pace.period_ns || count - before < pace.count) return false;
    last_ = now;
    return true;
  }

 private:
  PlantCounters last_;
};

}  // namespace

RunResult run(const Scenario& scenario, std::unique_ptr<const Policy> policy, const std::optional<Settings>& start,
              std::span<const Settings> held, const RunOptions& options) {
  const World& first = scenario.segments.front().world;
  const auto batch_bytes = static_cast<std::size_t>(first.workload.batch * first.workload.row_bytes);
  const Settings begun = start.value_or(initial_settings(limits_of(first), batch_bytes));
  FluidPlant plant(scenario, held.empty() ? begun : held.front());
  trace::TraceWriter* const writer = policy != nullptr ? options.writer.get() : nullptr;
  std::optional<LearningDecider> decider;
  if (policy != nullptr) {
    decider.emplace(options.config, std::move(policy), plant.limits(), [writer](const std::vector<std::byte>& weights) {
      if (writer != nullptr) writer->renewed(weights);
    });
  }
  const auto clock = [&] { return plant.counters().time_ns; };
  if (writer != nullptr) {
    writer->began({.policy = (*decider)->policy().name(),
                   .config = policy_config_to_json(decider->config()).dump(),
                   .state = (*decider)->save()});
  }

  RunResult result;
  Pace pace;
  for (std::size_t at = 0; at < scenario.segments.size(); ++at) {
    const Segment& segment = scenario.segments[at];
    const bool last = at + 1 == scenario.segments.size();
    const double end = last ? scenario.seconds : std::min(scenario.segments[at + 1].begin, scenario.seconds);
    if (segment.begin >= scenario.seconds) break;
    SegmentResult row{.name = segment.name, .begin = segment.begin, .totals = {}, .settings = {}};
    const Totals before = plant.totals();
    const Observation seen = decider ? Observation{} : plant.observe();
    if (at < held.size()) plant.apply(held[at]);
    Waits waits;
    while (plant.time() < end - 1e-9) {
      const Totals then = plant.totals();
      plant.advance(std::min(kTick, end - plant.time()));
      waits.add((plant.totals().samples - then.samples) / segment.world.workload.batch,
                plant.totals().stall - then.stall);
      // Where a segment's limits are wider, the plant has them only now.
      if (!decider && at < held.size()) plant.apply(held[at]);
      if (!decider) continue;
      LearningDecider& by = *decider;
      by.go_on(clock());
      if (by.learner() != nullptr) static_cast<void>(by.learner()->keep());  // an error stands in its report
      if (!pace.due(plant.counters(), by->policy().pace(by->limits()))) continue;
      if (plant.limits() != by->limits()) by->set_limits(plant.limits());
      const Observation now = plant.observe();
      const Decision decision = by.decide(now, clock);
      if (writer != nullptr) {
        writer->decision(by->limits(), now, decision, {});
        if (Status kept = writer->flush(now.time_ns); !kept.ok()) result.recorded = std::move(kept);
      }
      row.moves += moved(decision.applied, plant.settings());
      plant.apply(decision.applied);
      ++result.decisions;
    }
    row.totals = less(plant.totals(), before);
    row.load_mean = waits.mean();
    row.load_p95 = waits.percentile();
    row.settings = plant.settings();
    if (!decider) row.features = features(plant.observe(), seen, plant.limits());
    result.segments.push_back(std::move(row));
  }
  if (writer != nullptr) {
    if (Status kept = writer->close(); !kept.ok()) result.recorded = std::move(kept);
  }
  if (decider && decider->learner() != nullptr) result.learning = decider->learner()->to_json();
  return result;
}

}  // namespace drapps::sim
