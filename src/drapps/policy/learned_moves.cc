#include "drapps/policy/learned_moves.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

#include "drapps/plant/knob_range.h"

namespace drapps {

namespace {

rl::Head head_of(const Knob& knob, KnobMove move) {
  switch (move) {
    case KnobMove::kNotch: return {rl::HeadKind::kChoice, LearnedMoves::kChoices};
    case KnobMove::kEnds: return {rl::HeadKind::kChoice, 2};
    case KnobMove::kAny: return {rl::HeadKind::kChoice, knob.grid.size()};
    case KnobMove::kShare: return {rl::HeadKind::kBeta, 2};
    case KnobMove::kNotches: return {rl::HeadKind::kChoice, LearnedMoves::kAllChoices};
  }
  return {};
}

std::int32_t by_notches(const KnobRange& range, std::int32_t value, float choice) noexcept {
  const auto is = [&](LearnedMoves::Choice one) { return choice == static_cast<float>(one); };
  if (is(LearnedMoves::kDown)) return range.down(value);
  if (is(LearnedMoves::kUp)) return range.up(value);
  if (!is(LearnedMoves::kFarDown) && !is(LearnedMoves::kFarUp)) return value;
  for (int i = 0; i < LearnedMoves::kFar; ++i) value = is(LearnedMoves::kFarUp) ? range.up(value) : range.down(value);
  return value;
}

}  // namespace

NamedKnob named_knob(KnobId id, KnobMove move) {
  const Knob& knob = knob_table()[static_cast<std::size_t>(id)];
  return {std::string(knob.name), std::string(knob.unit), {knob.grid.begin(), knob.grid.end()}, move};
}

Result<LearnedMoves> LearnedMoves::of(std::span<const NamedKnob> knobs, std::span<const std::string> lanes,
                                      bool whole) {
  LearnedMoves actions;
  actions.whole_ = whole;
  std::vector<rl::Head> heads;
  for (const NamedKnob& named : knobs) {
    const auto& table = knob_table();
    const auto* const knob = std::ranges::find(table, std::string_view(named.name), &Knob::name);
    if (knob == table.end()) {
      return invalid("the weights move the knob \"" + named.name + "\", which this version does not have");
    }
    const bool moves = knob->ordered || named.move == KnobMove::kAny;
    if (!moves || named != named_knob(knob->id, named.move)) {
      return invalid("the weights move the knob \"" + named.name +
                     "\" over other values than it has in this version, or in another unit");
    }
    if (std::ranges::find(actions.knobs_, knob->id) != actions.knobs_.end()) {
      return invalid("the weights move the knob \"" + named.name + "\" twice");
    }
    actions.knobs_.push_back(knob->id);
    actions.moves_.push_back(named.move);
    heads.push_back(head_of(*knob, named.move));
  }
  for (const std::string& name : lanes) {
    const auto* const lane = std::ranges::find(kLanes, std::string_view(name), &Lane::name);
    if (lane == kLanes.end()) {
      return invalid("the weights share workers with the lane \"" + name + "\", which this version does not have");
    }
    const auto place = static_cast<std::size_t>(lane - kLanes.begin());
    if (std::ranges::find(actions.lanes_, place) != actions.lanes_.end()) {
      return invalid("the weights share workers with the lane \"" + name + "\" twice");
    }
    actions.lanes_.push_back(place);
  }
  const std::size_t count = actions.lanes_.size();
  if (count == 1 || count > kMostLanes) {
    return invalid("weights share workers among 2 to " + std::to_string(kMostLanes) + " lanes, or none");
  }
  if (count > 0 && whole) heads.push_back({rl::HeadKind::kDirichlet, count});
  if (count > 0 && !whole) heads.push_back({rl::HeadKind::kChoice, 1 + count * (count - 1)});
  if (heads.empty()) return invalid("the weights move no knob");
  actions.heads_ = rl::Heads(std::move(heads));
  return actions;
}

template <class Visit>
void LearnedMoves::each_pair(const Visit& visit) const noexcept {
  for (const std::size_t from : lanes_) {
    for (const std::size_t to : lanes_) {
      if (from != to) visit(from, to);
    }
  }
}

bool LearnedMoves::any(const Limits& limits) const noexcept {
  return std::ranges::any_of(knobs_, [&](KnobId id) { return limits[id] != Bounds{}; }) ||
         std::ranges::any_of(lanes_, [&](std::size_t lane) { return limits.weighted[lane]; });
}

void LearnedMoves::mask(const Settings& settings, const Limits& limits, const LearnedMemory& memory,
                        std::uint8_t* mask) const noexcept {
  for (std::size_t i = 0; i < knobs_.size(); ++i) {
    const KnobId id = knobs_[i];
    const KnobRange range = range_of(id, limits);
    const auto place = static_cast<std::size_t>(id);
    const Knob& knob = knob_table()[place];
    const bool moves = limits[id] != Bounds{} && memory.rested[place] >= knob.cool_down;
    switch (moves_[i]) {
      case KnobMove::kNotch:
      case KnobMove::kNotches:
        mask[kStay] = 1;
        mask[kDown] = moves && settings[id] > range.low() ? 1 : 0;
        mask[kUp] = moves && settings[id] < range.high() ? 1 : 0;
        if (moves_[i] == KnobMove::kNotches) {
          mask[kFarDown] = moves && range.down(settings[id]) > range.low() ? 1 : 0;
          mask[kFarUp] = moves && range.up(settings[id]) < range.high() ? 1 : 0;
        }
        mask += heads_.all()[i].outputs();
        break;
      // Where nothing can be chosen the first choice is allowed: it changes nothing.
      case KnobMove::kEnds:
        mask[0] = 1;
        mask[1] = limits[id] != Bounds{} ? 1 : 0;
        mask += 2;
        break;
      case KnobMove::kAny: {
        const bool any = limits[id] != Bounds{};
        for (const std::int32_t value : knob.grid) *mask++ = any && range.contains(value) ? 1 : 0;
        if (!any) mask[-static_cast<std::ptrdiff_t>(knob.grid.size())] = 1;
        break;
      }
      case KnobMove::kShare:
        mask[0] = mask[1] = 1;
        mask += 2;
        break;
    }
  }
  if (whole_) {
    std::fill_n(mask, lanes_.size(), std::uint8_t{1});
    return;
  }
  if (lanes_.empty()) return;
  *mask++ = 1;
  each_pair([&](std::size_t from, std::size_t to) {
    const bool shared = settings[KnobId::kFused] == 0 && limits.weighted[from] && limits.weighted[to];
    *mask++ = shared && settings.lane_weights[from] > 1 ? 1 : 0;
  });
}

/// Of the sixteenths that the network's lanes have together each lane gets one, and of the others as many as its share
/// says, by largest remainder.
LaneWeights LearnedMoves::shared(const Settings& settings, const Limits& limits, const float* shares) const noexcept {
  LaneWeights next = settings.lane_weights;
  std::array<double, kMostLanes> wanted{};
  std::int32_t all = 0, count = 0;
  double sum = 0;
  for (std::size_t i = 0; i < lanes_.size(); ++i) {
    if (!limits.weighted[lanes_[i]]) continue;
    ++count;
    all += next[lanes_[i]];
    sum += wanted[i] = static_cast<double>(shares[i]);
  }
  if (count < 2 || all < count || !(sum > 0)) return next;
  std::int32_t left = all - count;
  for (std::size_t i = 0; i < lanes_.size(); ++i) {
    if (!limits.weighted[lanes_[i]]) continue;
    wanted[i] *= (all - count) / sum;
    const auto whole = static_cast<std::int32_t>(wanted[i]);
    wanted[i] -= whole;
    next[lanes_[i]] = 1 + whole;
    left -= whole;
  }
  for (; left > 0; --left) {
    const auto most = static_cast<std::size_t>(std::ranges::max_element(wanted) - wanted.begin());
    ++next[lanes_[most]];
    wanted[most] = -1;
  }
  return next;
}

Settings LearnedMoves::moved(const Settings& settings, const Limits& limits, const float* action) const noexcept {
  Settings next = settings;
  for (std::size_t i = 0; i < knobs_.size(); ++i) {
    const KnobId id = knobs_[i];
    const KnobRange range = range_of(id, limits);
    const float choice = *action++;
    if (limits[id] == Bounds{}) continue;
    switch (moves_[i]) {
      case KnobMove::kNotch:
      case KnobMove::kNotches: next[id] = by_notches(range, settings[id], choice); break;
      case KnobMove::kEnds: next[id] = choice == 0 ? range.low() : range.high(); break;
      case KnobMove::kAny: {
        const Knob& knob = knob_table()[static_cast<std::size_t>(id)];
        const auto place = static_cast<std::size_t>(choice);
        if (place < knob.grid.size() && range.contains(knob.grid[place])) next[id] = knob.grid[place];
        break;
      }
      case KnobMove::kShare: {
        const float way = choice * static_cast<float>(range.high() - range.low());
        next[id] = range.fit(range.low() + static_cast<std::int32_t>(way + 0.5F));
        break;
      }
    }
  }
  if (lanes_.empty()) return next;
  if (whole_) {
    next[KnobId::kFused] = range_of(KnobId::kFused, limits).low();
    next.lane_weights = shared(settings, limits, action);
    return next;
  }
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
