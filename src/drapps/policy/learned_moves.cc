#include "drapps/policy/learned_moves.h"

#include <algorithm>
#include <utility>

#include "drapps/plant/knob_range.h"

namespace drapps {

NamedKnob named_knob(KnobId id) {
  const Knob& knob = knob_table()[static_cast<std::size_t>(id)];
  return {std::string(knob.name), std::string(knob.unit), {knob.grid.begin(), knob.grid.end()}};
}

Result<LearnedMoves> LearnedMoves::of(std::span<const NamedKnob> knobs, std::span<const std::string> lanes) {
  LearnedMoves made;
  std::vector<rl::Head> heads;
  for (const NamedKnob& named : knobs) {
    const auto& table = knob_table();
    const auto* const knob = std::ranges::find(table, std::string_view(named.name), &Knob::name);
    if (knob == table.end()) {
      return invalid("the weights move the knob \"" + named.name + "\", which this version does not have");
    }
    if (!knob->ordered || named != named_knob(knob->id)) {
      return invalid("the weights move the knob \"" + named.name +
                     "\" over other values than it has in this version, or in another unit");
    }
    if (std::ranges::find(made.knobs_, knob->id) != made.knobs_.end()) {
      return invalid("the weights move the knob \"" + named.name + "\" twice");
    }
    made.knobs_.push_back(knob->id);
    heads.push_back({rl::HeadKind::kChoice, kChoices});
  }
  for (const std::string& name : lanes) {
    const auto* const lane = std::ranges::find(kLanes, std::string_view(name), &Lane::name);
    if (lane == kLanes.end()) {
      return invalid("the weights share workers with the lane \"" + name + "\", which this version does not have");
    }
    const auto place = static_cast<std::size_t>(lane - kLanes.begin());
    if (std::ranges::find(made.lanes_, place) != made.lanes_.end()) {
      return invalid("the weights share workers with the lane \"" + name + "\" twice");
    }
    made.lanes_.push_back(place);
  }
  const std::size_t count = made.lanes_.size();
  if (count == 1 || count > kMostLanes) {
    return invalid("weights share workers among 2 to " + std::to_string(kMostLanes) + " lanes, or none");
  }
  if (count > 0) heads.push_back({rl::HeadKind::kChoice, 1 + count * (count - 1)});
  if (heads.empty()) return invalid("the weights move no knob");
  made.heads_ = rl::Heads(std::move(heads));
  return made;
}

template <class Visit>
void LearnedMoves::each_pair(const Visit& visit) const noexcept {
  for (const std::size_t from : lanes_) {
    for (const std::size_t to : lanes_) {
      if (from != to) visit(from, to);
    }
  }
}

void LearnedMoves::mask(const Settings& settings, const Limits& limits, const LearnedMemory& memory,
                        std::uint8_t* mask) const noexcept {
  for (const KnobId id : knobs_) {
    const KnobRange range = range_of(id, limits);
    const auto place = static_cast<std::size_t>(id);
    const bool rests = memory.rested[place] < knob_table()[place].cool_down;
    const bool moves = limits[id] != Bounds{} && !rests;
    mask[kStay] = 1;
    mask[kDown] = moves && settings[id] > range.low() ? 1 : 0;
    mask[kUp] = moves && settings[id] < range.high() ? 1 : 0;
    mask += kChoices;
  }
  if (lanes_.empty()) return;
  *mask++ = 1;
  each_pair([&](std::size_t from, std::size_t to) {
    const bool shared = settings[KnobId::kFused] == 0 && limits.weighted[from] && limits.weighted[to];
    *mask++ = shared && settings.lane_weights[from] > 1 ? 1 : 0;
  });
}

Settings LearnedMoves::moved(const Settings& settings, const Limits& limits, const float* action) const noexcept {
  Settings next = settings;
  for (const KnobId id : knobs_) {
    const KnobRange range = range_of(id, limits);
    const float choice = *action++;
    if (choice == static_cast<float>(kDown)) next[id] = range.down(settings[id]);
    if (choice == static_cast<float>(kUp)) next[id] = range.up(settings[id]);
  }
  if (lanes_.empty()) return next;
  float left = *action - 1;
  each_pair([&](std::size_t from, std::size_t to) {
    if (left == 0 && next.lane_weights[from] > 1) {
      --next.lane_weights[from];
      ++next.lane_weights[to];
    }
    --left;
  });
  return next;
}

}  // namespace drapps
