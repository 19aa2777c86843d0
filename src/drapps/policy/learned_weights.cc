#include "drapps/policy/learned_weights.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <utility>

#include "drapps/plant/schema.h"

namespace drapps {
namespace {

using nlohmann::json;

constexpr std::string_view kMagic = "drapps-weights 1\n";
constexpr std::string_view kAnyMagic = "drapps-weights ";
constexpr std::size_t kMostHidden = 3;  // layers

// Numbers that change by themselves while a simulated or a live plant runs. Differences are taken of the first 16.
constexpr std::array<std::string_view, 36> kSeenFeatures{
    "consumer.stall",        "consumer.demand",    "workers.idle",        "workers.window",
    "workers.storage",       "prepare.stretch",    "prepare.cores",       "python.stretch",
    "python.cores",          "storage.latency",    "storage.depth_used",  "storage.refused",
    "batches.ready",         "meter.cpu_use",      "meter.gpu_use_mean",  "meter.processes_wait",
    "prepare.work",          "python.work",        "decode@cuda.work",    "augment@cuda.work",
    "storage.waited",        "upcoming.bytes",     "memory.used",         "process.cores",
    "processes.idle_cores",  "meter.cpu_iowait",   "meter.disk_busy",     "meter_valid.gpu_use_mean",
    "meter_valid.disk_busy", "knob.workers",       "knob.io_depth",       "knob.prefetch_depth",
    "knob.processes",        "knob.decode_on_gpu", "knob.augment_on_gpu", "valid.python",
};
constexpr std::array kMovedKnobs{KnobId::kWorkers,   KnobId::kIoDepth,     KnobId::kPrefetchDepth,
                                 KnobId::kProcesses, KnobId::kDecodeOnGpu, KnobId::kAugmentOnGpu};

template <class Number>
void put_bytes(std::vector<std::byte>& out, Number number) {
  for (std::size_t i = 0; i < sizeof number; ++i) out.push_back(static_cast<std::byte>(number >> (8 * i) & 0xFF));
}

template <class Number>
Number number_at(std::span<const std::byte> bytes, std::size_t at) noexcept {
  Number number = 0;
  for (std::size_t i = sizeof number; i-- > 0;) {
    number = static_cast<Number>(number << 8 | std::to_integer<Number>(bytes[at + i]));
  }
  return number;
}

std::string_view text_of_bytes(std::span<const std::byte> bytes) noexcept {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

constexpr std::array<std::string_view, 5> kMoveNames{"notch", "ends", "any", "share", "notches"};

std::optional<KnobMove> move_named(const json& name) {
  const auto* const at = std::ranges::find_if(kMoveNames, [&](std::string_view each) { return name == each; });
  if (at == kMoveNames.end()) return std::nullopt;
  return static_cast<KnobMove>(at - kMoveNames.begin());
}

json shape_to_json(const LearnedShape& shape) {
  json features = json::array();
  for (const NamedFeature& each : shape.features) features.push_back({each.name, each.unit, each.source});
  json knobs = json::array();
  for (const NamedKnob& each : shape.knobs) {
    knobs.push_back({each.name, each.unit, each.grid});
    if (each.move != KnobMove::kNotch) knobs.back().push_back(name_of(each.move));
  }
  json root{{"features", features},
            {"differences", shape.differences},
            {"knobs", knobs},
            {"lanes", shape.lanes},
            {"hidden", shape.hidden}};
  if (shape.whole_shares) root["whole_shares"] = true;
  if (!shape.over.empty()) root["over"] = shape.over;
  if (shape.remembers_best) root["best"] = true;
  if (shape.falls_back) root["falls_back"] = true;
  return root;
}

bool all_strings(const json& list) {
  return list.is_array() && std::ranges::all_of(list, [](const json& each) { return each.is_string(); });
}

bool all_counts(const json& list) {
  return list.is_array() && std::ranges::all_of(list, [](const json& each) {
           return each.is_number_unsigned() && each.get<std::uint64_t>() <= (1U << 20);
         });
}

/// Nothing where it is no shape at all; whether it means something is for network_of() to say.
std::optional<LearnedShape> shape_from_json(const json& from) {
  const bool whole = from.is_object() && from.contains("whole_shares") && from["whole_shares"] == true;
  const bool over = from.is_object() && from.contains("over");
  const bool best = from.is_object() && from.contains("best") && from["best"] == true;
  const bool falls_back = from.is_object() && from.contains("falls_back") && from["falls_back"] == true;
  if (!from.is_object() || from.size() != 5U + whole + over + best + falls_back ||
      (over && !from["over"].is_string())) {
    return std::nullopt;
  }
  for (const char* key : {"features", "differences", "knobs", "lanes", "hidden"}) {
    if (!from.contains(key) || !from[key].is_array() || from[key].size() > rl::kMostWidth) return std::nullopt;
  }
  if (!all_strings(from["differences"]) || !all_strings(from["lanes"]) || !all_counts(from["hidden"])) {
    return std::nullopt;
  }
  LearnedShape shape{.differences = from["differences"],
                     .lanes = from["lanes"],
                     .hidden = from["hidden"].get<std::vector<std::size_t>>(),
                     .whole_shares = whole,
                     .over = over ? from["over"].get<std::string>() : "",
                     .remembers_best = best,
                     .falls_back = falls_back};
  for (const json& each : from["features"]) {
    if (!all_strings(each) || each.size() != 3) return std::nullopt;
    shape.features.push_back({each[0], each[1], each[2]});
  }
  for (const json& each : from["knobs"]) {
    if (!each.is_array() || each.size() < 3 || !each[0].is_string() || !each[1].is_string() || !all_counts(each[2])) {
      return std::nullopt;
    }
    const auto move = each.size() == 3 ? KnobMove::kNotch : move_named(each[3]);
    if (each.size() > 4 || !move) return std::nullopt;
    shape.knobs.push_back({each[0], each[1], each[2].get<std::vector<std::int32_t>>(), *move});
  }
  return shape;
}

}  // namespace

std::string_view name_of(KnobMove move) noexcept { return kMoveNames[static_cast<std::size_t>(move)]; }

LearnedShape default_shape(std::size_t hidden) {
  LearnedShape shape{.features = named_features(kSeenFeatures),
                     .hidden = {hidden, hidden},
                     .remembers_best = true,
                     .falls_back = true};
  for (std::size_t i = 0; i < kMostDifferences; ++i) shape.differences.emplace_back(kSeenFeatures[i]);
  for (const KnobId id : kMovedKnobs) shape.knobs.push_back(named_knob(id));
  return shape;
}

Result<LearnedNetwork> network_of(const LearnedShape& shape) {
  auto moves = LearnedMoves::of(shape.knobs, shape.lanes, shape.whole_shares);
  if (!moves.ok()) return std::move(moves).error();
  auto inputs = LearnedInputs::of(shape.features, shape.differences, moves->knobs(), shape.remembers_best);
  if (!inputs.ok()) return std::move(inputs).error();
  std::vector<std::size_t> sizes{inputs->size()};
  sizes.insert(sizes.end(), shape.hidden.begin(), shape.hidden.end());
  sizes.push_back(moves->heads().outputs());
  if (shape.hidden.size() > kMostHidden ||
      std::ranges::any_of(sizes, [](std::size_t size) { return size == 0 || size > rl::kMostWidth; })) {
    return invalid("the network of these weights must have up to " + std::to_string(kMostHidden) +
                   " hidden layers, and 1 to " + std::to_string(rl::kMostWidth) + " numbers in each layer");
  }
  if (!shape.over.empty() && std::ranges::find(kBasePolicies, shape.over) == kBasePolicies.end()) {
    return invalid("the weights move what the policy \"" + shape.over + "\" proposes, which none can in this version");
  }
  return LearnedNetwork{*std::move(inputs), *std::move(moves), rl::Mlp<float>(std::move(sizes)), shape.over,
                        shape.falls_back};
}

std::vector<std::byte> weights_to_bytes(const LearnedShape& shape, std::span<const float> parameters) {
  const std::string head = shape_to_json(shape).dump();
  std::vector<std::byte> out;
  const auto put_text = [&](std::string_view text) {
    for (const char letter : text) out.push_back(static_cast<std::byte>(letter));
  };
  put_text(kMagic);
  put_bytes(out, static_cast<std::uint32_t>(head.size()));
  put_text(head);
  for (const float parameter : parameters) put_bytes(out, std::bit_cast<std::uint32_t>(parameter));
  put_bytes(out, hash_of(text_of_bytes(out)));
  return out;
}

std::vector<std::byte> with_parameters(std::span<const std::byte> weights, std::span<const float> parameters) {
  const std::size_t end = weights.size() - sizeof(std::uint64_t);
  std::vector<std::byte> out(weights.begin(),
                             weights.begin() + static_cast<std::ptrdiff_t>(end - 4 * parameters.size()));
  for (const float parameter : parameters) put_bytes(out, std::bit_cast<std::uint32_t>(parameter));
  put_bytes(out, hash_of(text_of_bytes(out)));
  return out;
}

Result<LearnedNetwork> network_from_bytes(std::span<const std::byte> bytes) {
  const std::string_view text = text_of_bytes(bytes);
  if (!text.starts_with(kAnyMagic)) {
    return invalid("these are no weights of a learned policy; drapps train-policy makes some");
  }
  if (!text.starts_with(kMagic)) return invalid("these weights have a format of another version: train them anew");
  std::size_t at = kMagic.size();
  const Error truncated = invalid("the weights are truncated");
  if (bytes.size() < at + 4 + 8) return truncated;
  const std::size_t head = number_at<std::uint32_t>(bytes, at);
  at += 4;
  if (head > bytes.size() - at - 8) return truncated;
  const auto shape = shape_from_json(json::parse(text.substr(at, head), nullptr, /*allow_exceptions=*/false));
  if (!shape) return invalid("the weights do not say what they see and move");
  at += head;
  auto network = network_of(*shape);
  if (!network.ok()) return network;
  const std::span<float> parameters = network->actor.parameters();
  if (bytes.size() - at - 8 < parameters.size() * 4) return truncated;
  if (bytes.size() - at - 8 != parameters.size() * 4) return invalid("the weights are more than their network has");
  for (float& parameter : parameters) {
    parameter = std::bit_cast<float>(number_at<std::uint32_t>(bytes, at));
    at += 4;
    if (!std::isfinite(parameter)) return invalid("one of the weights is no number");
    if (std::abs(parameter) > kMostParameter) return invalid("one of the weights is larger than any that was learnt");
  }
  if (number_at<std::uint64_t>(bytes, at) != hash_of(text.substr(0, at))) return invalid("the weights are damaged");
  return network;
}

}  // namespace drapps
