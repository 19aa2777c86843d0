#include "drapps/policy/faulty.h"

#include <stdexcept>

namespace drapps {

Settings Faulty::decide(const Observation& observation, PolicyState& state) const {
  const auto turn = state.load<std::uint64_t>() + 1;
  state.store(turn);
  if (turn == at_) throw std::runtime_error("injected fault");
  return observation.settings;
}

}  // namespace drapps
