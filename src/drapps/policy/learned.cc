#include "drapps/policy/learned.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

#include "drapps/policy/registry.h"

namespace drapps {
namespace {

constexpr std::uint64_t kDrawsStream = 3;

}  // namespace

Result<std::unique_ptr<Policy>> LearnedPolicy::make(const PolicyConfig& config) {
  if (config.weights.empty()) {
    return invalid("policy " + config.name +
                   " has no weights of its own: give the file that drapps train-policy has written");
  }
  auto network = network_from_bytes(config.weights);
  if (!network.ok()) return std::move(network).error();
  std::unique_ptr<const Policy> base;
  if (!network->over.empty()) {
    auto policy = make_policy({.name = network->over});
    if (!policy.ok()) return std::move(policy).error();
    base = *std::move(policy);
  }
  return std::unique_ptr<Policy>(new LearnedPolicy(*std::move(network), *std::ranges::find(kLearnedNames, config.name),
                                                   std::move(base), config.learn));
}

bool learns_live(std::string_view name) noexcept {
  return std::ranges::find(kLiveLearners, name) != kLiveLearners.end();
}

void look(const LearnedNetwork& network, const Observation& seen, const Limits& limits, bool draws,
          LearnedMemory& memory, LearnedLook& into) noexcept {
  std::array<float, 2 * rl::kMostWidth> scratch;
  network.inputs.next(seen, limits, memory, into.inputs.data());
  network.moves.mask(seen.settings, limits, memory, into.mask.data());
  const std::span<const float> outputs = network.actor.forward_one(into.inputs.data(), scratch);
  if (draws) {
    rl::Random random(seen.time_ns, kDrawsStream);
    network.moves.heads().sample(outputs.data(), into.mask.data(), random, into.action.data());
  } else {
    network.moves.heads().mode(outputs.data(), into.mask.data(), into.action.data());
  }
}

std::optional<Settings> fallen_back(const LearnedNetwork& network, const Observation& seen, const Limits& limits,
                                    LearnedMemory& memory) noexcept {
  return network.falls_back ? fall_back(seen, limits, network.moves.knobs(), memory.fallback) : std::nullopt;
}

static_assert(sizeof(LearnedMemory) + kBaseMemory <= kPolicyMemory);

KnobClock LearnedPolicy::pace(const Limits& limits) const noexcept {
  return network_.left_to_base(limits) ? base_->pace(limits) : learned_pace(name_);
}

/// What the heuristic remembers stands behind what the network does.
PolicyState LearnedPolicy::base_state(const PolicyState& state) const noexcept {
  PolicyState own{.limits = state.limits};
  const auto kept = state.memory.begin() + sizeof(LearnedMemory);
  std::copy(kept, kept + kBaseMemory, own.memory.begin());
  return own;
}

Settings LearnedPolicy::proposed_by_base(const Observation& observation, PolicyState& state) const {
  if (base_ == nullptr) return observation.settings;
  PolicyState own = base_state(state);
  const Settings proposed = base_->decide(observation, own);
  std::copy_n(own.memory.begin(), kBaseMemory, state.memory.begin() + sizeof(LearnedMemory));
  state.why = own.why;
  state.trying = own.trying;
  return proposed;
}

Settings LearnedPolicy::decide(const Observation& observation, PolicyState& state) const {
  if (network_.left_to_base(state.limits)) return proposed_by_base(observation, state);
  LearnedLook step;
  auto memory = state.load<LearnedMemory>();
  look(network_, observation, state.limits, draws_, memory, step);
  const std::optional<Settings> safe = fallen_back(network_, observation, state.limits, memory);
  state.store(memory);
  if (safe) {
    say_falls_back(memory.fallback.phase, state);
    return *safe;
  }
  const Settings settings =
      network_.moves.moved(proposed_by_base(observation, state), state.limits, step.action.data());
  say_moves(observation.settings, settings, state);
  return settings;
}

void LearnedPolicy::say_stays(PolicyState& state) const {
  const LearnedMoves& moves = network_.moves;
  std::size_t missing = 0;
  const char* first = nullptr;
  for (const KnobId id : moves.knobs()) {
    if (state.limits[id] != Bounds{}) continue;
    if (missing++ == 0) first = knob_table()[static_cast<std::size_t>(id)].name.data();
  }
  const auto shared = static_cast<std::size_t>(
      std::ranges::count_if(moves.lanes(), [&](std::size_t lane) { return state.limits.weighted[lane]; }));
  const bool no_lanes = !moves.lanes().empty() && shared < 2;
  if (missing == moves.knobs().size() && (no_lanes || moves.lanes().empty())) {
    return state.say("this plant has nothing that it moves: %s", first != nullptr ? first : "shares of lanes");
  }
  if (missing == 0 && !no_lanes) return state.say("nothing looks better than to stay");
  if (no_lanes) return state.say("nothing looks better than to stay; masked: shares of lanes");
  if (missing == 1) return state.say("nothing looks better than to stay; masked: %s", first);
  state.say("nothing looks better than to stay; masked: %s, and %zu more", first, missing - 1);
}

void LearnedPolicy::say_falls_back(FallbackPhase phase, PolicyState& state) {
  if (phase == FallbackPhase::kMeasures) {
    return state.say("measures how fast samples come before it moves anything");
  }
  if (phase == FallbackPhase::kReturns) {
    return state.say("its moves were slower: back to settings that were faster");
  }
  state.say("its moves were slower: the faster settings stay for a while");
}

/// The first knob that moves stands for all.
void LearnedPolicy::say_moves(const Settings& before, const Settings& after, PolicyState& state) const {
  const bool shares = before.lane_weights != after.lane_weights;
  if (shares) state.why = Reason("the network moves workers from one lane to another");
  std::size_t moves = shares ? 1 : 0;
  const char* first = nullptr;
  bool up = false;
  for (const KnobId id : network_.moves.knobs()) {
    if (before[id] == after[id]) continue;
    ++moves;
    if (first != nullptr) continue;
    first = knob_table()[static_cast<std::size_t>(id)].name.data();
    up = after[id] > before[id];
  }
  if (first == nullptr) {
    if (before[KnobId::kFused] != after[KnobId::kFused]) return state.say("the network asks for a plan with lanes");
    if (!shares) say_stays(state);
    return;
  }
  if (moves == 1) return state.say("the network moves %s %s", first, up ? "up" : "down");
  state.say("the network moves %s %s, and %zu more", first, up ? "up" : "down", moves - 1);
}

bool LearnedPolicy::knows(const PolicyState& state) const noexcept {
  if (base_ != nullptr && !base_->knows(base_state(state))) return false;
  if (!state.is_bool(offsetof(LearnedMemory, begun))) return false;
  const auto memory = state.load<LearnedMemory>();
  return std::ranges::all_of(memory.last, [](float value) { return std::isfinite(value) && std::abs(value) <= 5; }) &&
         std::isfinite(memory.before.cpu_seconds) && std::isfinite(memory.best.pace) && memory.best.pace >= 0 &&
         std::isfinite(memory.best.best) && memory.best.best >= 0 && is_fallback_memory(memory.fallback);
}

}  // namespace drapps
