// What a learned policy can do: of each of its knobs a notch up, one down, or none, or also several at once; and of the
// shares of lanes one sixteenth from one lane to another, or none. All together in one decision.
//
// Published designs name values instead: of a knob its lowest or its highest, any of its grid, or a share of the way
// from the one to the other; and of all lanes their shares at once. Who does that also asks for a plan that has lanes.
// The guard between a policy and the knobs goes to such values by notches.
//
// What cannot be done is masked: notches beyond the limits or of knobs that the plant has not or that still rest, and
// sixteenths of lanes that share no workers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "drapps/base/result.h"
#include "drapps/plant/policy.h"
#include "drapps/policy/learned_inputs.h"
#include "drapps/rl/heads.h"

namespace drapps {

enum class KnobMove : std::uint8_t {
  kNotch,    // one up or down
  kEnds,     // to the lowest value or the highest
  kAny,      // to any of the grid
  kShare,    // to so much of the way from the lowest to the highest
  kNotches,  // one up or down, or LearnedMoves::kFar
};

/// A knob with what it means, as a file of weights has it.
struct NamedKnob {
  std::string name, unit;
  std::vector<std::int32_t> grid;
  KnobMove move = KnobMove::kNotch;
  bool operator==(const NamedKnob&) const = default;
};
NamedKnob named_knob(KnobId id, KnobMove move = KnobMove::kNotch);

class LearnedMoves {
 public:
  enum Choice : std::uint8_t { kStay, kDown, kUp, kFarDown, kFarUp };
  static constexpr std::size_t kChoices = 3;     // of KnobMove::kNotch
  static constexpr std::size_t kAllChoices = 5;  // of KnobMove::kNotches
  static constexpr int kFar = 4;                 // notches
  static constexpr std::size_t kMostLanes = 8;

  /// kInvalidArgument names a knob or lane that there is not, that means something else than it did, or that stands
  /// there twice.
  /// @param whole  whether the shares of the lanes are said at once, not by sixteenths.
  static Result<LearnedMoves> of(std::span<const NamedKnob> knobs, std::span<const std::string> lanes,
                                 bool whole = false);

  const std::vector<KnobId>& knobs() const noexcept { return knobs_; }
  /// How each of the knobs moves.
  const std::vector<KnobMove>& moves() const noexcept { return moves_; }
  /// Lanes whose shares move.
  const std::vector<std::size_t>& lanes() const noexcept { return lanes_; }
  const rl::Heads& heads() const noexcept { return heads_; }

  /// Whether a plant with such limits has any of the knobs, or shares of the lanes.
  bool any(const Limits& limits) const noexcept;
  void mask(const Settings& settings, const Limits& limits, const LearnedMemory& memory,
            std::uint8_t* mask) const noexcept;
  /// @param action  heads().values() numbers; what is no choice moves nothing.
  Settings moved(const Settings& settings, const Limits& limits, const float* action) const noexcept;

 private:
  /// Calls visit(from, to) for every pair of lanes, in order.
  template <class Visit>
  void each_pair(const Visit& visit) const noexcept;

  LaneWeights shared(const Settings& settings, const Limits& limits, const float* shares) const noexcept;

  std::vector<KnobId> knobs_;
  std::vector<KnobMove> moves_;
  std::vector<std::size_t> lanes_;  // whose shares move
  bool whole_ = false;
  rl::Heads heads_;
};

}  // namespace drapps
