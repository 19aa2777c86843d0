// The fixed list of lanes: what is done, and on which device. A plan uses some of them; weights, observations and the
// simulator use exactly the lanes of the plan. What holds something for every lane is an array in the order of this
// list.
#pragma once

#include <algorithm>
#include <array>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace drapps {

enum class LaneRole : std::uint8_t { kFetch, kDecode, kAugment, kTokenise, kPython, kCollate, kTransfer, kPrepare };
enum class LaneDevice : std::uint8_t { kCpu, kCuda };

struct Lane {
  LaneRole role;
  LaneDevice device;
  std::string_view name;  // no two alike
};

inline constexpr std::array kLanes{
    Lane{LaneRole::kFetch, LaneDevice::kCpu, "fetch"},
    Lane{LaneRole::kDecode, LaneDevice::kCpu, "decode"},
    Lane{LaneRole::kAugment, LaneDevice::kCpu, "augment"},
    Lane{LaneRole::kTokenise, LaneDevice::kCpu, "tokenise"},
    Lane{LaneRole::kPython, LaneDevice::kCpu, "python"},
    Lane{LaneRole::kCollate, LaneDevice::kCpu, "collate"},
    Lane{LaneRole::kTransfer, LaneDevice::kCpu, "transfer"},
    Lane{LaneRole::kPrepare, LaneDevice::kCpu, "prepare"},
    Lane{LaneRole::kDecode, LaneDevice::kCuda, "decode@cuda"},
    Lane{LaneRole::kAugment, LaneDevice::kCuda, "augment@cuda"},
    Lane{LaneRole::kTransfer, LaneDevice::kCuda, "transfer@cuda"},
};
static_assert(std::all_of(kLanes.begin(), kLanes.end(), [](const Lane& lane) {
  return std::count_if(kLanes.begin(), kLanes.end(), [&](const Lane& other) {
           return other.name == lane.name || (other.role == lane.role && other.device == lane.device);
         }) == 1;
}));

/// The place of a lane in the list; its size where there is no such lane.
constexpr std::size_t lane_place(LaneRole role, LaneDevice device = LaneDevice::kCpu) noexcept {
  std::size_t place = 0;
  while (place < kLanes.size() && (kLanes[place].role != role || kLanes[place].device != device)) ++place;
  return place;
}

using LaneSet = std::bitset<kLanes.size()>;

/// Lane weights are sixteenths: they sum to this over the lanes that share the workers.
inline constexpr int kWeightUnit = 16;
using LaneWeights = std::array<std::int32_t, kLanes.size()>;

/// What the weights of a split plan say: how busy workers are divided, none idle while there is work; or the most of
/// the workers, rounded up, that a lane may have at once.
enum class WeightUse : std::uint8_t { kShare, kCap };

}  // namespace drapps
