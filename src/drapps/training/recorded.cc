#include "drapps/training/recorded.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "drapps/plant/schema.h"
#include "drapps/policy/stretch.h"
#include "drapps/trace/replay.h"
#include "drapps/trace/typed.h"

namespace drapps::training {
namespace {

struct Point : DecisionPoint {
  bool drawn = false;
};

Error named(Error error, const std::string& file) {
  error.message = file + ": " + error.message;
  return error;
}

Result<std::vector<Point>> points_of(trace::TraceReader& reader) {
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
    points.push_back(
        {{.seen = *seen, .limits = limits, .applied = *applied, .sound = decision->fault.empty() && seen->time_ns > 0},
         decision->why.starts_with("drawn: ")});
  }
}

class Steps {
 public:
  Steps(const LearnedNetwork& network, const Reward& reward, Recorded& into)
      : network_(network), reward_(reward), into_(into) {}

  void add(const std::vector<Point>& points) {
    std::vector<std::optional<Stretch>> stretches;
    std::vector<double> rates;
    for (std::size_t i = 0; i + 1 < points.size(); ++i) {
      std::optional<Stretch> stretch = stretch_between(points[i], points[i + 1]);
      if (stretch) rates.push_back(stretch->rate);
      stretches.push_back(stretch);
    }
    if (rates.empty()) {
      into_.left_out += stretches.size();
      return;
    }
    const double best = best_rate_of(std::move(rates));
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
  Recorded record{.shape = shape, .steps = {}};
  for (const NamedKnob& knob : shape.knobs) record.support.push_back({.name = knob.name});
  Steps steps(*network, reward, record);
  for (const auto& points : runs) steps.add(points);
  record.runs = runs.size();
  for (KnobSupport& each : record.support) each.learnt = each.downs + each.ups > 0;
  return record;
}

template <class Number>
std::string_view bytes_of(const std::vector<Number>& numbers) noexcept {
  return {reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(Number)};
}

}  // namespace

Result<Recorded> read_recorded(const std::vector<std::string>& files, const LearnedShape& shape, const Reward& reward) {
  std::vector<std::vector<Point>> runs;
  for (const std::string& file : files) {
    auto reader = trace::TraceReader::open(file);
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
  auto result = steps_of(runs, moved, reward);
  if (!result.ok()) return result;
  result->support = std::move(all->support);
  std::string kept(bytes_of(result->steps.inputs));
  kept.append(bytes_of(result->steps.actions)).append(bytes_of(result->steps.rewards));
  result->hash = hash_of(kept);
  return result;
}

}  // namespace drapps::training
