#include "drapps/policy/stretch.h"

#include <algorithm>
#include <cstddef>

#include "drapps/plant/features.h"
#include "drapps/policy/learned_inputs.h"

namespace drapps {
namespace {

constexpr double kLongestStep = 20;   // s of a step; what is longer was interrupted
constexpr double kMostBetween = 0.1;  // share of a step between passes
constexpr double kBestShare = 0.95;

}  // namespace

double makers_share(const Settings& settings, const Limits& limits) noexcept {
  const std::int32_t most = limits[KnobId::kProcesses].high;
  if (most > 0) return static_cast<double>(settings[KnobId::kProcesses]) / most;
  return settings[KnobId::kWorkers] / (2 * std::max(limits.cpus, 1.0));
}

std::optional<Stretch> stretch_between(const DecisionPoint& from, const DecisionPoint& to) {
  static const std::size_t stall = feature_place("consumer.stall"), between = feature_place("consumer.between"),
                           gpu = feature_place("meter.gpu_use_mean"),
                           has_gpu = feature_place("meter_valid.gpu_use_mean"), cores = feature_place("process.cores"),
                           memory = feature_place("memory.used");
  const double seconds =
      to.seen.time_ns > from.seen.time_ns ? 1e-9 * static_cast<double>(to.seen.time_ns - from.seen.time_ns) : 0;
  if (!from.sound || !to.sound || from.seen.finished || seconds <= 0 || seconds > kLongestStep) return std::nullopt;
  if (to.seen.samples < from.seen.samples) return std::nullopt;
  const Features of = features_since(feature_counters(from.seen), to.seen, to.limits);
  if (static_cast<double>(of[between]) > kMostBetween) return std::nullopt;
  Stretch stretch{.rate = static_cast<double>(to.seen.samples - from.seen.samples) / seconds,
                  .stall = std::clamp(static_cast<double>(of[stall]), 0.0, 1.0),
                  .cpu = std::clamp(static_cast<double>(of[cores]), 0.0, 1.0),
                  .threads = makers_share(to.seen.settings, to.limits),
                  .memory = static_cast<double>(of[memory])};
  stretch.asked = stretch.stall < 1 ? stretch.rate / (1 - stretch.stall) : 0;
  stretch.gpu = of[has_gpu] > 0 ? static_cast<double>(of[gpu]) : 1 - stretch.stall;
  for (std::size_t i = 0; i < kKnobs; ++i) stretch.moves += from.applied.knobs[i] != from.seen.settings.knobs[i];
  return stretch;
}

double best_rate_of(std::vector<double> rates) {
  const auto place = static_cast<std::ptrdiff_t>(kBestShare * static_cast<double>(rates.size() - 1));
  std::ranges::nth_element(rates, rates.begin() + place);
  return rates[static_cast<std::size_t>(place)];
}

}  // namespace drapps
