#include "drapps/policy/learned.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

namespace drapps {

Result<std::unique_ptr<Policy>> Learned::make(const PolicyConfig& config) {
  if (config.weights.empty()) {
    return invalid("policy ppo has no weights of its own: give the file that drapps train-policy has written");
  }
  auto network = network_from_bytes(config.weights);
  if (!network.ok()) return std::move(network).error();
  return std::unique_ptr<Policy>(new Learned(*std::move(network)));
}

Settings Learned::decide(const Observation& observation, PolicyState& state) const {
  std::array<float, rl::kMostWidth> inputs;
  std::array<float, 2 * rl::kMostWidth> scratch;
  std::array<std::uint8_t, rl::kMostWidth> mask;
  std::array<float, rl::kMostWidth> action;
  auto memory = state.load<LearnedMemory>();
  network_.inputs.next(observation, state.limits, memory, inputs.data());
  network_.moves.mask(observation.settings, state.limits, memory, mask.data());
  const std::span<const float> outputs = network_.actor.forward_one(inputs.data(), scratch);
  network_.moves.heads().mode(outputs.data(), mask.data(), action.data());
  state.store(memory);
  const Settings settings = network_.moves.moved(observation.settings, state.limits, action.data());
  state.why = Reason("nothing looks better than to stay");
  std::size_t moves = 0;
  for (const KnobId id : network_.moves.knobs()) {
    const auto i = static_cast<std::size_t>(id);
    if (settings.knobs[i] == observation.settings.knobs[i]) continue;
    const bool up = settings.knobs[i] > observation.settings.knobs[i];
    if (++moves == 1) state.say("the network moves %s %s", knob_table()[i].name.data(), up ? "up" : "down");
  }
  if (moves > 1) {
    const std::string first(state.why.view());
    state.say("%s, and %zu more", first.c_str(), moves - 1);
  }
  return settings;
}

bool Learned::knows(const PolicyState& state) const noexcept {
  if (!state.is_bool(offsetof(LearnedMemory, begun))) return false;
  const auto memory = state.load<LearnedMemory>();
  return std::ranges::all_of(memory.last, [](float value) { return std::isfinite(value) && std::abs(value) <= 5; }) &&
         std::isfinite(memory.before.cpu_seconds);
}

}  // namespace drapps
