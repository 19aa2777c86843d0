#include "drapps/control/loader_device.h"

#include <algorithm>
#include <utility>

#include "drapps/base/caught.h"
#include "drapps/deliver/slot_arena.h"
#include "drapps/device/open.h"

namespace drapps {
namespace {

// More than three groups of pictures take, with rows of 512 x 512 in float32.
constexpr std::size_t kDeviceBytes = std::size_t{2} << 30;
constexpr double kOfDevice = 0.5;
constexpr double kGain = 1.05;

constexpr std::string_view kPlacements[] = {"cpu", "gpu", "auto"};

const LaneCounts& counts_of(const PlantStats& stats, LaneRole role, LaneDevice device = LaneDevice::kCpu) noexcept {
  return stats.lanes[lane_place(role, device)];
}

/// Seconds of an epoch of one sample, where `share` of all samples are decoded on the device.
double epoch_seconds(const PlacementRates& rates, double share) noexcept {
  const double cpu = ((1 - share) * rates.whole + share * rates.rest) / rates.cores;
  return std::max(cpu, share * rates.device / kOfDevice);
}

PlacementRates placement_rates(const PlantStats& stats, const LateCounts& counts) noexcept {
  const double decode = counts_of(stats, LaneRole::kDecode).service_cpu.mean();
  const double augment = counts_of(stats, LaneRole::kAugment).service_cpu.mean();
  const double collate = counts_of(stats, LaneRole::kCollate).service_cpu.mean();
  const double fused = counts_of(stats, LaneRole::kPrepare).service_cpu.mean();
  return {
      .whole = (fused > 0 ? fused : decode + augment + collate) * 1e-9,
      .rest = (counts_of(stats, LaneRole::kDecode, LaneDevice::kCuda).service_cpu.mean() + augment + collate) * 1e-9,
      .device = static_cast<double>(counts.busy_ns) * 1e-9 /
                static_cast<double>(std::max<std::uint64_t>(counts.samples(), 1)),
      .cores = std::max(stats.limits.cpus, 1.0)};
}

}  // namespace

std::string_view name_of(PlacementMode mode) noexcept { return kPlacements[static_cast<std::size_t>(mode)]; }

Result<PlacementChoice> placement_from_json(const nlohmann::json& placement, const nlohmann::json& device) {
  const auto name = std::find(std::begin(kPlacements), std::end(kPlacements),
                              placement.is_string() ? placement.get<std::string>() : "");
  if (name == std::end(kPlacements))
    return invalid("placement=" + placement.dump() + R"( must be "cpu", "gpu" or "auto")");
  PlacementChoice choice{.mode = static_cast<PlacementMode>(name - std::begin(kPlacements)), .device = {}};
  if (choice.mode == PlacementMode::kCpu) return choice;
  if (!device.is_string()) return invalid("placement=" + placement.dump() + " is of no device: name it by device=");
  choice.device = device.get<std::string>();
  return choice;
}

std::int32_t best_share(const PlacementRates& rates) noexcept {
  std::int32_t best = 0;
  for (std::int32_t share = 1; share <= kWeightUnit; ++share) {
    if (epoch_seconds(rates, share / 16.0) < epoch_seconds(rates, best / 16.0)) best = share;
  }
  return epoch_seconds(rates, 0) >= kGain * epoch_seconds(rates, best / 16.0) ? best : 0;
}

Result<std::shared_ptr<LateStage>> LoaderDevice::enter(const Plan& plan, Engine& engine) {
  if (entered_ || choice_.mode == PlacementMode::kCpu) return decoder_;
  auto stage = catching([&] { return make(plan, engine); });
  const bool full = !stage.ok() && stage.error().code == ErrorCode::kResourceExhausted;
  if (full) warning_ = "the CPU decodes all, and " + choice_.device + " nothing: " + stage.error().message;
  if (!stage.ok() && !full && choice_.mode == PlacementMode::kGpu) {
    Error error = std::move(stage).error();
    error.message = "placement=\"gpu\" cannot be: " + error.message;
    return error;
  }
  entered_ = true;
  if (stage.ok()) {
    decoder_ = *std::move(stage);
  } else {
    unused_ = stage.error().message;
  }
  return decoder_;
}

Result<std::shared_ptr<LateStage>> LoaderDevice::make(const Plan& plan, Engine& engine) const {
  if (plan.parts.size() != 1) {
    return Error{.code = ErrorCode::kUnsupported,
                 .stage = Stage::kSetup,
                 .message = "the samples have " + std::to_string(plan.parts.size()) +
                            " parts, and devices decode for those with a picture alone; write placement=\"cpu\""};
  }
  auto opened = device::open_device(choice_.device);
  if (!opened.ok()) return std::move(opened).error();
  auto room = std::make_shared<DeviceRoom>(*std::move(opened), MemoryKind{}, kDeviceBytes);
  return plan.parts.front()->late_stage(room, engine.memory(MemoryUse::kWorkspaces));
}

void LoaderDevice::start(Settings& settings, const PlacementChoice& choice) noexcept {
  if (choice.mode == PlacementMode::kCpu) return;
  const std::int32_t share = choice.mode == PlacementMode::kGpu ? kWeightUnit : kTrial;
  settings[KnobId::kDecodeOnGpu] = settings[KnobId::kAugmentOnGpu] = share;
}

bool LoaderDevice::place(Settings& settings, const PlantStats& stats) {
  if (choice_.mode != PlacementMode::kAuto || decoder_ == nullptr) return false;
  if (settings[KnobId::kDecodeOnGpu] != share_) return false;
  const LateCounts counts = decoder_->counts();
  if (counts.samples() == counts.returned) return false;
  share_ = best_share(placement_rates(stats, counts));
  settings[KnobId::kDecodeOnGpu] = settings[KnobId::kAugmentOnGpu] = share_;
  return true;
}

std::string LoaderDevice::take_warning() {
  if (!warning_.empty()) return std::exchange(warning_, {});
  return decoder_ == nullptr ? std::string() : decoder_->take_warning();
}

nlohmann::json LoaderDevice::to_json() const {
  nlohmann::json root{{"placement", name_of(choice_.mode)}};
  if (choice_.mode == PlacementMode::kCpu) return root;
  root["device"] = choice_.device;
  if (!unused_.empty()) root["unused"] = unused_;
  if (decoder_ == nullptr) return root;
  if (!decoder_->augments()) root["not_augmented"] = decoder_->why_not_augmented();
  const LateCounts counts = decoder_->counts();
  root.update({{"decoded", counts.decoded},
               {"from_cache", counts.from_cache},
               {"augmented", counts.augmented},
               {"stayed", counts.stayed},
               {"returned", counts.returned},
               {"launches", counts.launches},
               {"at_once", decoder_->most()},
               {"busy_s", static_cast<double>(counts.busy_ns) * 1e-9}});
  return root;
}

}  // namespace drapps
