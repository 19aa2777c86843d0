// The fixed list of lane roles. A plan uses some of them; weights, observations and the simulator
// use exactly the lanes of the plan.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace drapps {

enum class LaneRole : std::uint8_t { kFetch, kDecode, kAugment, kTokenise, kPython, kCollate, kTransfer, kPrepare };

inline constexpr std::size_t kLaneRoles = 8;

inline constexpr std::array<std::string_view, kLaneRoles> kLaneNames{"fetch",  "decode",  "augment",  "tokenise",
                                                                     "python", "collate", "transfer", "prepare"};

constexpr std::size_t index_of(LaneRole role) noexcept { return static_cast<std::size_t>(role); }
constexpr std::string_view name_of(LaneRole role) noexcept { return kLaneNames[index_of(role)]; }

/// Lane weights are sixteenths: they sum to this over the lanes that share the workers.
inline constexpr int kWeightUnit = 16;

}  // namespace drapps
