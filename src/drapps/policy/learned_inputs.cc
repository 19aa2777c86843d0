#include "drapps/policy/learned_inputs.h"

#include <algorithm>

namespace drapps {

std::size_t feature_place(std::string_view name) {
  const auto& all = feature_descriptions();
  return static_cast<std::size_t>(std::ranges::find(all, name, &FeatureDescription::name) - all.begin());
}

std::vector<NamedFeature> named_features(std::span<const std::string_view> names) {
  const auto& all = feature_descriptions();
  std::vector<NamedFeature> found;
  for (const std::string_view name : names) {
    const std::size_t place = feature_place(name);
    if (place == all.size()) continue;
    found.push_back({all[place].name, std::string(all[place].unit), std::string(all[place].source)});
  }
  return found;
}

Result<LearnedInputs> LearnedInputs::of(std::span<const NamedFeature> features,
                                        std::span<const std::string> differences, std::vector<KnobId> knobs) {
  const auto& all = feature_descriptions();
  LearnedInputs made;
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
    made.features_.push_back(place);
  }
  if (differences.size() > kMostDifferences) {
    return invalid("weights may use " + std::to_string(kMostDifferences) + " differences at most");
  }
  for (const std::string& name : differences) {
    const std::size_t place = feature_place(name);
    if (std::ranges::find(made.features_, place) == made.features_.end()) {
      return invalid("the weights use the difference of \"" + name + "\", which is none of their features");
    }
    made.differences_.push_back(place);
  }
  made.knobs_ = std::move(knobs);
  return made;
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
  memory.before = feature_counters(seen);
  memory.settings = seen.settings;
  memory.begun = true;
}

}  // namespace drapps
