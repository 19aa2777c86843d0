#include "drapps/plant/schema.h"

#include <cstdio>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>

namespace drapps {
namespace {

std::optional<std::int32_t> number(const nlohmann::json& json) {
  if (!json.is_number_integer()) return std::nullopt;
  if (json.is_number_unsigned() && json.get<std::uint64_t>() > std::numeric_limits<std::int32_t>::max()) return {};
  const auto wide = json.get<std::int64_t>();
  const auto narrow = static_cast<std::int32_t>(wide);
  return narrow == wide ? std::optional(narrow) : std::nullopt;
}

std::string_view step_text(KnobStep step) {
  switch (step) {
    case KnobStep::kNotch: return ", a notch";
    case KnobStep::kStart: return ", a notch after the first step";
    case KnobStep::kAny: break;
  }
  return ", any step";
}

}  // namespace

std::string schema_text() {
  std::string text;
  for (const Knob& knob : knob_table()) {
    text.append("knob ").append(knob.name);
    text.append(" every ").append(std::to_string(knob.clock.period_ns)).append(" ns and ");
    text.append(std::to_string(knob.clock.count));
    text.append(knob.clock.counted == Counted::kSamples ? " samples" : " batches");
    text.append(step_text(knob.step));
    text.append(", rests ").append(std::to_string(knob.cool_down)).append(", of");
    for (const std::int32_t value : knob.grid) text.append(" ").append(std::to_string(value));
    text.append("\n");
  }
  for (const Lane& lane : kLanes) {
    text.append("lane ").append(lane.name).append(": ").append(kLanes[lane_place(lane.role)].name);
    text.append(lane.device == LaneDevice::kCpu ? " on cpu\n" : " on cuda\n");
  }
  text.append("weights of ").append(std::to_string(kWeightUnit)).append("\n");
  return text;
}

std::uint64_t hash_of(std::string_view text) noexcept {
  std::uint64_t hash = 0xCBF29CE484222325ull;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3ull;
  return hash;
}

std::uint64_t schema_hash() { return hash_of(schema_text()); }

std::string schema_hex(std::uint64_t hash) {
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(hash));
  return text;
}

nlohmann::json settings_to_json(const Settings& settings, KnobSet has) {
  nlohmann::json knobs = nlohmann::json::object();
  for (const Knob& knob : knob_table()) {
    if (has[static_cast<std::size_t>(knob.id)]) knobs[std::string(knob.name)] = settings[knob.id];
  }
  nlohmann::json weights = nlohmann::json::object();
  for (std::size_t i = 0; i < kLanes.size(); ++i) {
    if (settings.lane_weights[i] != 0) weights[std::string(kLanes[i].name)] = settings.lane_weights[i];
  }
  return {{"schema", schema_hex(schema_hash())}, {"knobs", std::move(knobs)}, {"lane_weights", std::move(weights)}};
}

Result<Settings> settings_from_json(const nlohmann::json& json, KnobSet has) {
  const auto part = [&](const char* name) { return json.is_object() ? json.value(name, nlohmann::json()) : json; };
  if (part("schema") != schema_hex(schema_hash())) {
    return invalid("these settings belong to another version's knobs; export them again with this version");
  }
  const nlohmann::json knobs = part("knobs");
  const nlohmann::json weights = part("lane_weights");
  if (!knobs.is_object() || !weights.is_object()) return invalid("settings need the objects knobs and lane_weights");
  Settings settings;
  for (const Knob& knob : knob_table()) {
    if (has[static_cast<std::size_t>(knob.id)] || !knobs.contains(knob.name)) continue;
    return invalid("these settings have the knob " + std::string(knob.name) + ", which this loader has not: it runs " +
                   (has == kProcessKnobs ? "Python code in worker processes" : "native code in threads") +
                   "; take those that such a loader has exported");
  }
  for (const Knob& knob : knob_table()) {
    if (!has[static_cast<std::size_t>(knob.id)]) continue;
    const auto value = number(knobs.value(std::string(knob.name), nlohmann::json()));
    if (!value) return invalid("knob " + std::string(knob.name) + " is missing or not an integer");
    settings[knob.id] = *value;
  }
  if (knobs.size() != has.count()) return invalid("settings name a knob that does not exist");
  std::size_t known = 0;
  for (std::size_t i = 0; i < kLanes.size(); ++i) {
    const auto lane = weights.find(std::string(kLanes[i].name));
    if (lane == weights.end()) continue;
    const auto value = number(*lane);
    if (!value) return invalid("the weight of lane " + std::string(kLanes[i].name) + " is not an integer");
    settings.lane_weights[i] = *value;
    ++known;
  }
  if (weights.size() != known) return invalid("settings name a lane that does not exist");
  return settings;
}

Result<Settings> thread_settings_from_json(const nlohmann::json& json) {
  const nlohmann::json knobs = json.is_object() ? json.value("knobs", nlohmann::json()) : nlohmann::json();
  const std::string_view name = knob_table()[static_cast<std::size_t>(KnobId::kDecodeOnGpu)].name;
  return settings_from_json(json, knobs.is_object() && knobs.contains(name) ? kPlacedKnobs : kThreadKnobs);
}

}  // namespace drapps
