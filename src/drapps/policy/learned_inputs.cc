#include "drapps/policy/learned_inputs.h"

#include <algorithm>

#include "drapps/base/exact_math.h"
#include "drapps/plant/knob_range.h"

namespace drapps {
namespace {

constexpr double kSmooth = 0.5;   // of the way to what a stretch shows
constexpr double kAnew = 0.1;     // of the way of the best pace to the present one, while its settings are in force
constexpr double kPaceScale = 8;  // a pace that is 3 % lower is -0.35
constexpr double kMostPace = 3;
constexpr double kInLog2 = 1.4426950408889634074;
constexpr float kNotchScale = 0.25F, kMostNotches = 2;

double since(std::uint64_t now, std::uint64_t before) noexcept {
  return now > before ? static_cast<double>(now - before) : 0;
}

}  // namespace

std::size_t feature_place(std::string_view name) {
  const auto& all = feature_descriptions();
  return static_cast<std::size_t>(std::ranges::find(all, name, &FeatureDescription::name) - all.begin());
}

std::vector<NamedFeature> named_features(std::span<const std::string_view> names) {
  const auto& all = feature_descriptions();
  std::vector<NamedFeature> features;
  for (const std::string_view name : names) {
    const std::size_t place = feature_place(name);
    if (place == all.size()) continue;
    features.push_back({all[place].name, std::string(all[place].unit), std::string(all[place].source)});
  }
  return features;
}

Result<LearnedInputs> LearnedInputs::of(std::span<const NamedFeature> features,
                                        std::span<const std::string> differences, std::vector<KnobId> knobs,
                                        bool remembers_best) {
  const auto& all = feature_descriptions();
  LearnedInputs inputs;
  for (const NamedFeature& feature : features) {
    const std::size_t place = feature_place(feature.name);
    if (place == all.size()) {
      return invalid("the weights use the feature \"" + feature.name + "\", which this version does not have");
    }
    if (all[place].unit != feature.unit || all[place].source != feature.source) {
      return invalid("the weights use the feature \"" + feature.name + "\" as \"" + feature.source + "\" (" +
                     feature.unit + "), and in this version it is \"" + std::string(all[place].source) + "\" (" +
                     std::string(all[place].unit) + ")");
    }
    inputs.features_.push_back(place);
  }
  if (differences.size() > kMostDifferences) {
    return invalid("weights may use " + std::to_string(kMostDifferences) + " differences at most");
  }
  for (const std::string& name : differences) {
    const std::size_t place = feature_place(name);
    if (std::ranges::find(inputs.features_, place) == inputs.features_.end()) {
      return invalid("the weights use the difference of \"" + name + "\", which is none of their features");
    }
    inputs.differences_.push_back(place);
  }
  inputs.knobs_ = std::move(knobs);
  inputs.remembers_best_ = remembers_best;
  return inputs;
}

void LearnedInputs::take_pace(const Observation& seen, LearnedMemory& memory) const noexcept {
  const FeatureCounters now = feature_counters(seen);
  const double ns = since(now.time_ns, memory.before.time_ns) - since(now.between_ns, memory.before.between_ns);
  if (!memory.begun || ns <= 0) return;
  BestSeen& best = memory.best;
  const double pace = 1e9 * since(now.samples, memory.before.samples) / ns;
  best.pace += (best.pace > 0 ? kSmooth : 1) * (pace - best.pace);
  const bool there = std::ranges::all_of(knobs_, [&](KnobId id) { return seen.settings[id] == best.fastest[id]; });
  if (best.pace > best.best) {
    best.best = best.pace;
    best.fastest = seen.settings;
  } else if (there) {
    best.best += kAnew * (best.pace - best.best);
  }
}

float* LearnedInputs::put_best(const Observation& seen, const Limits& limits, const BestSeen& best,
                               float* into) const noexcept {
  const bool known = best.best > 0;
  const double behind = known ? kPaceScale * kInLog2 * exact::log(std::max(best.pace, 1e-3) / best.best) : 0;
  *into++ = static_cast<float>(std::clamp(behind, -kMostPace, kMostPace));
  for (const KnobId id : knobs_) {
    const KnobRange range = range_of(id, limits);
    const std::int32_t notches = known ? range.place(best.fastest[id]) - range.place(seen.settings[id]) : 0;
    *into++ = std::clamp(kNotchScale * static_cast<float>(notches), -kMostNotches, kMostNotches);
  }
  return into;
}

void LearnedInputs::next(const Observation& seen, const Limits& limits, LearnedMemory& memory,
                         float* into) const noexcept {
  const Features now = features_since(memory.before, seen, limits);
  for (const std::size_t place : features_) *into++ = now[place];
  for (std::size_t i = 0; i < differences_.size(); ++i) {
    const float value = now[differences_[i]];
    *into++ = memory.begun ? value - memory.last[i] : 0.0F;
    memory.last[i] = value;
  }
  for (std::size_t i = 0; i < kKnobs; ++i) {
    if (!memory.begun) {
      memory.rested[i] = kLongRest;
    } else if (memory.settings.knobs[i] != seen.settings.knobs[i]) {
      memory.rested[i] = 1;
    } else {
      memory.rested[i] = std::min<std::uint8_t>(memory.rested[i] + 1, kLongRest);
    }
  }
  for (const KnobId knob : knobs_) {
    *into++ = static_cast<float>(memory.rested[static_cast<std::size_t>(knob)]) / static_cast<float>(kLongRest);
  }
  if (remembers_best_) {
    take_pace(seen, memory);
    into = put_best(seen, limits, memory.best, into);
  }
  memory.before = feature_counters(seen);
  memory.settings = seen.settings;
  memory.begun = true;
}

}  // namespace drapps
