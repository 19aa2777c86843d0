// A file of weights: what a learned policy sees and moves, by name, and its network.
//
//   auto network = network_of(default_shape());
//   const std::vector<std::byte> bytes = weights_to_bytes(default_shape(), network->actor.parameters());
//   auto same = network_from_bytes(bytes);
//
// Bytes: "drapps-weights 1\n"; the length of what follows in JSON, 4 bytes, least first; that; the parameters of the
// network (rl/mlp.h) as 4-byte floats, least byte first; and the FNV-1a hash of all before, 8 bytes.
//
//   {"features": [[name, unit, source], …], "differences": [name, …], "knobs": [[name, unit, [value, …]], …],
//    "lanes": [name, …], "hidden": [64, 64]}
//
// A knob that does not move by a notch has "notches", "ends", "any" or "share" as a fourth entry; with "whole_shares":
// true the shares of all lanes are said at once. With "over": "aimd" the moves are of what that policy proposes. With
// "best": true it sees how its pace and its knobs stand to the fastest ones so far (learned_inputs.h). With
// "falls_back": true settings that were faster come back where its moves make samples slower (fallback.h).
//
// A version that has more features, knobs or lanes runs the same weights: it leaves alone what they do not name.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "drapps/base/result.h"
#include "drapps/policy/learned_inputs.h"
#include "drapps/policy/learned_moves.h"
#include "drapps/rl/mlp.h"

namespace drapps {

/// What a network is for.
struct LearnedShape {
  std::vector<NamedFeature> features{};
  std::vector<std::string> differences{};
  std::vector<NamedKnob> knobs{};
  std::vector<std::string> lanes{};
  std::vector<std::size_t> hidden{};
  bool whole_shares = false;  // of the lanes, not sixteenths
  std::string over{};         // the policy whose proposals it moves, of kBasePolicies; empty: what is in force
  bool remembers_best = false;
  bool falls_back = false;
  bool operator==(const LearnedShape&) const = default;
};

/// Policies over which another may learn: what these remember fits into kBaseMemory.
inline constexpr std::array<std::string_view, 3> kBasePolicies{"aimd", "rule", "trials"};

struct LearnedNetwork {
  LearnedInputs inputs;
  LearnedMoves moves;
  rl::Mlp<float> actor;
  std::string over;
  bool falls_back = false;

  /// Whether the policy that it stands over decides alone: the plant has nothing that the network moves.
  bool left_to_base(const Limits& limits) const noexcept { return !over.empty() && !moves.any(limits); }
};

/// "notch", "ends", "any" or "share".
std::string_view name_of(KnobMove move) noexcept;

/// A network of this shape, all parameters 0. kInvalidArgument as LearnedInputs::of() and LearnedMoves::of(), and where
/// a layer is too wide.
Result<LearnedNetwork> network_of(const LearnedShape& shape);

/// What a network of DRAPPS's own training sees and moves: what the live plant and a simulated one both have.
LearnedShape default_shape(std::size_t hidden = 64);

std::vector<std::byte> weights_to_bytes(const LearnedShape& shape, std::span<const float> parameters);

/// The same weights with as many other parameters.
/// @param weights  as weights_to_bytes() has given them.
std::vector<std::byte> with_parameters(std::span<const std::byte> weights, std::span<const float> parameters);

/// The reverse of weights_to_bytes(). kInvalidArgument says what is wrong: no such file, another version of the format,
/// truncated, damaged, what network_of() refuses, or a parameter that is no number or larger than kMostParameter.
Result<LearnedNetwork> network_from_bytes(std::span<const std::byte> bytes);

inline constexpr float kMostParameter = 1e4F;

}  // namespace drapps
