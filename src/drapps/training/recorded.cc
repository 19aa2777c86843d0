#include "drapps/training/recorded.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "drapps/plant/features.h"
#include "drapps/plant/schema.h"
#include "drapps/trace/replay.h"
#include "drapps/trace/typed.h"

namespace drapps::training {
namespace {

constexpr double kLongestStep = 20;   // s of a step; what is longer was interrupted
constexpr double kMostBetween = 0.1;  // share of a step between passes
constexpr double kBestShare = 0.95;   // of the steps of a run have a lower rate than its best

/// One decision as it was made, with what policies know.
struct Point {
  Observation seen;
  Limits limits;
  Settings applied;
  bool sound = true;  // the observation
  bool drawn = false;
};

Error named(Error error, const std::string& file) {
  error.message = file + ": " + error.message;
  return error;
}

Result<std::vector<Point>> points_of(trace::Reader& reader) {
  DRAPPS_RETURN_IF_ERROR(trace::check_schema(reader.header()));
  std::vector<Point> points;
  Limits limits;
  for (;;) {
    auto entry = reader.next();
    if (!entry.ok()) return std::move(entry).error();
    const std::optional<trace::Entry>& read = *entry;
    if (!read) return points;
    const trace::LimitsRead* changed = nullptr;
    if (const auto* began = std::get_if<trace::Began>(&*read)) changed = &began->limits;
    if (const auto* of = std::get_if<trace::LimitsChanged>(&*read)) changed = &of->limits;
    if (changed != nullptr) {
      auto now = trace::limits_of(*changed);
      if (!now.ok()) return std::move(now).error();
      limits = *now;
    }
    const auto* decision = std::get_if<trace::DecisionRead>(&*read);
    if (decision == nullptr) continue;
    auto seen = trace::observation_of(*decision);
    if (!seen.ok()) return std::move(seen).error();
    auto applied = trace::settings_of(decision->applied);
    if (!applied.ok()) return std::move(applied).error();
    points.push_back({.seen = *seen,
                      .limits = limits,
                      .applied = *applied,
                      .sound = decision->fault.empty() && seen->time_ns > 0,
                      .drawn = decision->why.starts_with("drawn: ")});
  }
}

std::size_t feature_place(std::string_view name) {
  const auto& all = feature_descriptions();
  return static_cast<std::size_t>(std::ranges::find(all, name, &FeatureDescription::name) - all.begin());
}

double seconds_between(const Point& from, const Point& to) noexcept {
  return to.seen.time_ns > from.seen.time_ns ? 1e-9 * static_cast<double>(to.seen.time_ns - from.seen.time_ns) : 0;
}

/// What happened between two decisions; nothing where something stands in between.
std::optional<Stretch> stretch_of(const Point& from, const Point& to) {
  static const std::size_t stall = feature_place("consumer.stall"), between = feature_place("consumer.between"),
                           gpu = feature_place("meter.gpu_use_mean"),
                           has_gpu = feature_place("meter_valid.gpu_use_mean"), cores = feature_place("process.cores"),
                           memory = feature_place("memory.used");
  const double seconds = seconds_between(from, to);
  if (!from.sound || !to.sound || from.seen.finished || seconds <= 0 || seconds > kLongestStep) return std::nullopt;
  if (to.seen.samples < from.seen.samples) return std::nullopt;
  const Features of = features_since(feature_counters(from.seen), to.seen, to.limits);
  if (static_cast<double>(of[between]) > kMostBetween) return std::nullopt;
  const Settings& settings = to.seen.settings;
  const bool processes = to.limits[KnobId::kProcesses] != Bounds{};
  Stretch stretch{
      .rate = static_cast<double>(to.seen.samples - from.seen.samples) / seconds,
      .stall = std::clamp(static_cast<double>(of[stall]), 0.0, 1.0),
      .cpu = std::clamp(static_cast<double>(of[cores]), 0.0, 1.0),
      .threads = settings[processes ? KnobId::kProcesses : KnobId::kWorkers] / (2 * std::max(to.limits.cpus, 1.0)),
      .memory = static_cast<double>(of[memory])};
  stretch.asked = stretch.stall < 1 ? stretch.rate / (1 - stretch.stall) : 0;
  stretch.gpu = of[has_gpu] > 0 ? static_cast<double>(of[gpu]) : 1 - stretch.stall;
  for (std::size_t i = 0; i < kKnobs; ++i) stretch.moves += from.applied.knobs[i] != from.seen.settings.knobs[i];
  return stretch;
}

class Steps {
 public:
  Steps(const LearnedNetwork& network, const Reward& reward, Recorded& into)
      : network_(network), reward_(reward), into_(into) {}

  void add(const std::vector<Point>& points) {
    std::vector<std::optional<Stretch>> stretches;
    std::vector<double> rates;
    for (std::size_t i = 0; i + 1 < points.size(); ++i) {
      std::optional<Stretch> stretch = stretch_of(points[i], points[i + 1]);
      if (stretch) rates.push_back(stretch->rate);
      stretches.push_back(stretch);
    }
    if (rates.empty()) {
      into_.left_out += stretches.size();
      return;
    }
    std::ranges::sort(rates);
    const double best = rates[static_cast<std::size_t>(kBestShare * static_cast<double>(rates.size() - 1))];
    LearnedMemory memory{};
    std::vector<float> inputs(network_.inputs.size()), next(inputs.size());
    std::vector<std::uint8_t> mask(network_.moves.heads().outputs()), next_mask(mask.size());
    look(points.front(), memory, inputs, mask);
    for (std::size_t i = 0; i < stretches.size(); ++i) {
      look(points[i + 1], memory, next, next_mask);
      if (std::optional<Stretch>& stretch = stretches[i]; stretch) {
        stretch->best = best;
        put(points[i], inputs, mask, reward_of(reward_, *stretch), next, next_mask);
      } else {
        ++into_.left_out;
      }
      std::swap(inputs, next);
      std::swap(mask, next_mask);
    }
  }

 private:
  void look(const Point& at, LearnedMemory& memory, std::vector<float>& inputs, std::vector<std::uint8_t>& mask) const {
    network_.inputs.next(at.seen, at.limits, memory, inputs.data());
    network_.moves.mask(at.seen.settings, at.limits, memory, mask.data());
  }

  void put(const Point& at, const std::vector<float>& inputs, std::vector<std::uint8_t>& mask, double reward,
           const std::vector<float>& next, const std::vector<std::uint8_t>& next_mask) {
    rl::Transitions<float>& steps = into_.steps;
    ++steps.rows;
    into_.drawn += at.drawn ? 1 : 0;
    for (std::size_t i = 0; i < network_.moves.knobs().size(); ++i) {
      const KnobId id = network_.moves.knobs()[i];
      const std::int32_t before = at.seen.settings[id], after = at.applied[id];
      const auto choice = after > before   ? LearnedMoves::kUp
                          : after < before ? LearnedMoves::kDown
                                           : LearnedMoves::kStay;
      // What was done could be done, whatever this version's guard thinks of the knob's rest.
      mask[i * LearnedMoves::kChoices + choice] = 1;
      steps.actions.push_back(static_cast<float>(choice));
      KnobSupport& of = into_.support[i];
      ++(choice == LearnedMoves::kUp ? of.ups : choice == LearnedMoves::kDown ? of.downs : of.stays);
      of.least = steps.rows == 1 ? before : std::min(of.least, before);
      of.most = std::max(of.most, before);
    }
    steps.inputs.insert(steps.inputs.end(), inputs.begin(), inputs.end());
    steps.masks.insert(steps.masks.end(), mask.begin(), mask.end());
    steps.rewards.push_back(static_cast<float>(reward));
    steps.next_inputs.insert(steps.next_inputs.end(), next.begin(), next.end());
    steps.next_masks.insert(steps.next_masks.end(), next_mask.begin(), next_mask.end());
    steps.ended.push_back(0);
  }

  const LearnedNetwork& network_;
  Reward reward_;
  Recorded& into_;
};

Result<Recorded> steps_of(const std::vector<std::vector<Point>>& runs, const LearnedShape& shape,
                          const Reward& reward) {
  auto network = network_of(shape);
  if (!network.ok()) return std::move(network).error();
  Recorded made{.shape = shape, .steps = {}};
  for (const NamedKnob& knob : shape.knobs) made.support.push_back({.name = knob.name});
  Steps steps(*network, reward, made);
  for (const auto& points : runs) steps.add(points);
  made.runs = runs.size();
  for (KnobSupport& each : made.support) each.learnt = each.downs + each.ups > 0;
  return made;
}

template <class Number>
std::string_view bytes_of(const std::vector<Number>& numbers) noexcept {
  return {reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(Number)};
}

}  // namespace

Result<Recorded> read_recorded(const std::vector<std::string>& files, const LearnedShape& shape, const Reward& reward) {
  std::vector<std::vector<Point>> runs;
  for (const std::string& file : files) {
    auto reader = trace::Reader::open(file);
    if (!reader.ok()) return named(std::move(reader).error(), file);
    auto points = points_of(**reader);
    if (!points.ok()) return named(std::move(points).error(), file);
    runs.push_back(*std::move(points));
  }
  auto all = steps_of(runs, shape, reward);
  if (!all.ok()) return all;
  if (all->steps.rows == 0) {
    return invalid("the recorded runs have no step to learn from: record runs of two decisions at least");
  }
  LearnedShape moved = shape;
  std::erase_if(moved.knobs, [&](const NamedKnob& knob) {
    return !std::ranges::find(all->support, knob.name, &KnobSupport::name)->learnt;
  });
  if (moved.knobs.empty()) {
    return invalid(
        "no knob moves in the recorded runs, so there is nothing to learn from them: record runs with "
        "policy=\"explore\"");
  }
  auto made = steps_of(runs, moved, reward);
  if (!made.ok()) return made;
  made->support = std::move(all->support);
  std::string kept(bytes_of(made->steps.inputs));
  kept.append(bytes_of(made->steps.actions)).append(bytes_of(made->steps.rewards));
  made->hash = hash_of(kept);
  return made;
}

}  // namespace drapps::training
