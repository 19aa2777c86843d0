// A policy that was learnt: a network looks at features of the plant, and moves knobs by a notch.
//
// The network's likeliest move is made. Only one that goes on learning draws its moves, by the time of the observation.
// All sums are taken in one order and no library's function is asked, so the same observations give the same moves at
// every SIMD level. A decision allocates nothing.
//
// A network with a fallback (fallback.h) has the knobs only where that lets it.
//
// A residual policy moves by a notch what a heuristic proposes, and not what is in force. On a plant that has none of
// the network's knobs the heuristic decides alone: how many worker processes run Python code is left to trials.
// Source: T. Silver, K. Allen, J. Tenenbaum, L. Kaelbling, "Residual policy learning", arXiv:1812.06298, 2018.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "drapps/base/result.h"
#include "drapps/plant/policy.h"
#include "drapps/policy/config.h"
#include "drapps/policy/learned_weights.h"
#include "drapps/policy/published.h"

namespace drapps {

/// Ways to learn, and published designs (published.h), by which policies with weights are called.
inline constexpr std::array<std::string_view, 10> kLearnedNames{"ppo",     "sac",     "cql",     "bcq",     "awac",
                                                                "cloning", "paper-a", "paper-b", "paper-c", "residual"};

/// The names of kLearnedNames whose policies may go on learning where they run: their networks say how likely a move
/// is, not what it is worth.
inline constexpr std::array<std::string_view, 9> kLiveLearners{"ppo",     "sac",     "bcq",     "awac",    "cloning",
                                                               "paper-a", "paper-b", "paper-c", "residual"};
bool learns_live(std::string_view name) noexcept;

/// One decision of a network: what it sees, what it may do, and what it does. Of each array as much is used as the
/// network has.
struct LearnedLook {
  std::array<float, rl::kMostWidth> inputs;
  std::array<std::uint8_t, rl::kMostWidth> mask;
  std::array<float, rl::kMostWidth> action;
};
/// @param memory  takes the observation in.
/// @param draws   its moves; else the likeliest ones are made.
void look(const LearnedNetwork& network, const Observation& seen, const Limits& limits, bool draws,
          LearnedMemory& memory, LearnedLook& into) noexcept;

/// The settings that its fallback puts in force in the place of the network's moves; nothing where it has none, or the
/// network has the knobs.
/// @param memory  that look() has given the observation to.
std::optional<Settings> fallen_back(const LearnedNetwork& network, const Observation& seen, const Limits& limits,
                                    LearnedMemory& memory) noexcept;

class LearnedPolicy final : public Policy {
 public:
  /// kInvalidArgument where weights are missing, or are none (learned_weights.h).
  static Result<std::unique_ptr<Policy>> make(const PolicyConfig& config);

  /// @param name  the way in which the policy learnt, of kLearnedNames: it sets how often it decides, and no more.
  /// @param base   the policy of network.over; null where that is empty.
  /// @param draws  its moves, because it goes on learning.
  LearnedPolicy(LearnedNetwork network, std::string_view name, std::unique_ptr<const Policy> base = nullptr,
                bool draws = false)
      : network_(std::move(network)), name_(name), base_(std::move(base)), draws_(draws) {}
  std::string_view name() const noexcept override { return name_; }
  Settings decide(const Observation& observation, PolicyState& state) const override;
  KnobClock pace(const Limits& limits) const noexcept override;
  bool knows(const PolicyState& state) const noexcept override;

 private:
  PolicyState base_state(const PolicyState& state) const noexcept;
  Settings proposed_by_base(const Observation& observation, PolicyState& state) const;
  /// Says that nothing moves, and which of the network's knobs and lanes this plant has not.
  void say_stays(PolicyState& state) const;
  static void say_falls_back(FallbackPhase phase, PolicyState& state);
  void say_moves(const Settings& before, const Settings& after, PolicyState& state) const;

  LearnedNetwork network_;
  std::string_view name_;
  std::unique_ptr<const Policy> base_;
  bool draws_;
};

}  // namespace drapps
