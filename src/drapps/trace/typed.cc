#include "drapps/trace/typed.h"

#include <algorithm>

#include "drapps/plant/fields.h"

namespace drapps::trace {
namespace {

constexpr std::int32_t kMostValue = 1 << 20;  // of a knob; what is beyond was never in force

bool can_be(std::int32_t value) { return -kMostValue <= value && value <= kMostValue; }
bool can_be_in_force(std::int32_t value) { return 0 <= value && value <= kMostValue; }

}  // namespace

Error impossible(const char* what) { return {.code = ErrorCode::kCorrupt, .message = what}; }

Result<Limits> limits_of(const LimitsRead& read) {
  Limits limits;
  for (std::size_t i = 0; i < kKnobs; ++i) {
    limits.knobs[i] = read.knobs[i];
    if (!can_be(read.knobs[i].low) || !can_be(read.knobs[i].high)) return impossible("no knob has such limits");
  }
  limits.weighted = LaneSet(read.weighted);
  limits.cpus = read.cpus;
  if (!(read.cpus >= 0 && read.cpus <= kMostValue)) return impossible("no budget is of so many cores");
  return limits;
}

Result<Settings> settings_of(const std::vector<std::int32_t>& values) {
  if (!std::all_of(values.begin(), values.end(), can_be)) return impossible("no knob stands so");
  Settings settings;
  std::copy_n(values.begin(), kKnobs, settings.knobs.begin());
  std::copy_n(values.begin() + kKnobs, kLanes.size(), settings.lane_weights.begin());
  return settings;
}

Result<Observation> observation_of(const DecisionRead& read) {
  ObservationWords words;
  std::copy_n(read.words.begin(), words.size(), words.begin());
  const Observation seen = drapps::observation_of(words);
  const bool stands =
      std::all_of(seen.settings.knobs.begin(), seen.settings.knobs.end(), can_be_in_force) &&
      std::all_of(seen.settings.lane_weights.begin(), seen.settings.lane_weights.end(), can_be_in_force);
  if (!stands) return impossible("no knob stands so");
  return seen;
}

}  // namespace drapps::trace
