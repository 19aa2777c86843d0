// What a learned policy sees: numbers without a scale of their own, made of two observations of one plant.
//
//   const FeatureCounters before = feature_counters(earlier);
//   const Features now = features_since(before, seen, limits);
//   for (std::size_t i = 0; i < now.size(); ++i) show(feature_descriptions()[i].name, now[i]);
//
// Shares lie in [0, 1] where the signals agree, logarithms are to base 2, and everything is cut to ±5. A feature of
// what the plant has not, or of what did not happen between the two, is 0; `valid.` and `meter_valid.` features tell
// that from a measured 0. The live plant and a simulator give observations alike, so both give features alike.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "drapps/cache/form/form.h"
#include "drapps/plant/plant.h"

namespace drapps {

struct FeatureDescription {
  std::string name;
  std::string_view unit;  // "share", "log2", "flag"
  std::string_view source;
};

/// What describes each feature, in the order of Features; made once.
const std::vector<FeatureDescription>& feature_descriptions();

/// The number of features of the machine, beside which stand as many flags.
inline constexpr std::size_t kMeterFeatures = 22;
/// The number of features of knobs: one each, but for the form, which has one for each of its values.
inline constexpr std::size_t kKnobFeatures = kKnobs - 1 + cache::kForms;
/// The number of all features: three of each lane, and the rest.
inline constexpr std::size_t kFeatureCount =
    3 * kLanes.size() + 26 + kKnobFeatures + kLanes.size() + 2 * kMeterFeatures;
using Features = std::array<float, kFeatureCount>;

/// What features() compares an observation with. Plain; zero bytes are an observation from before everything.
struct FeatureCounters {
  std::uint64_t time_ns, samples;
  std::array<std::uint64_t, kLanes.size()> wall_ns, cpu_ns;  // of lanes
  std::uint64_t step_ns, stall_ns, helped_ns, between_ns;    // of the consumer
  WorkerObservation workers;
  std::uint64_t bytes, at_once, waited, refusals;  // of the storage
  std::uint64_t seen, pixels;                      // of samples to come
  std::uint64_t idle_cores_ns;
  double cpu_seconds;
};
FeatureCounters feature_counters(const Observation& observation) noexcept;

/// Pure. Counters of `now` that are less than those of `before` count as no change.
Features features_since(const FeatureCounters& before, const Observation& now, const Limits& limits) noexcept;
Features features(const Observation& now, const Observation& before, const Limits& limits) noexcept;

}  // namespace drapps
