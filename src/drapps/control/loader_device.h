// Where the samples of a loader are decoded: its device, and the share that it begins with.
//
// Under "cpu" there is no device. Under "gpu" all samples are offered to it, and a device that cannot be used is an
// error. Under "auto" a device that cannot be used is none, and the share is placed anew when a pass begins, as long as
// no policy has moved it: kTrial until the device has decoded something, then what the measured rates say. Where the
// device has no memory left, the CPU does all under either, with a warning.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "drapps/control/plant_stats.h"
#include "drapps/modality/late_stage.h"
#include "drapps/pipeline/engine.h"
#include "drapps/pipeline/plan.h"

namespace drapps {

enum class PlacementMode : std::uint8_t { kCpu, kGpu, kAuto };
std::string_view name_of(PlacementMode mode) noexcept;

struct PlacementChoice {
  PlacementMode mode = PlacementMode::kCpu;
  std::string device;  // see device/open.h
};

/// kInvalidArgument for another word, and for a placement on a device without its name.
Result<PlacementChoice> placement_from_json(const nlohmann::json& placement, const nlohmann::json& device);

/// s of a sample, in CPU time but for the device's.
struct PlacementRates {
  double whole = 0;   // of one that the CPU makes
  double rest = 0;    // of one that the device decodes: to list it, and what is left to do
  double device = 0;  // on the device
  double cores = 1;
};

/// The sixteenths that make an epoch shortest, where the device gives decoding half of its time: the other half is the
/// training step's. 0 where they gain less than 5 %: the device is left alone.
std::int32_t best_share(const PlacementRates& rates) noexcept;

/// For one process; all members are called with the loader's lock, or by one thread.
class LoaderDevice {
 public:
  static constexpr std::int32_t kTrial = 2;  // sixteenths

  explicit LoaderDevice(PlacementChoice choice) : choice_(std::move(choice)) {}

  /// The decoder of all passes, made by the first one; null where the CPU does all. Errors are those of the device, and
  /// kUnsupported for a plan that none can decode for; under kGpu alone.
  Result<std::shared_ptr<LateStage>> enter(const Plan& plan, Engine& engine);
  /// What decodes now, or null.
  const LateStage* decoder() const noexcept { return decoder_.get(); }
  std::shared_ptr<const LateStage> shared_decoder() const noexcept { return decoder_; }

  /// The knobs that a loader begins with. Uses no device.
  static void start(Settings& settings, const PlacementChoice& choice) noexcept;
  /// Sets the knobs that the next pass begins with, by what passes before have measured; false where it leaves them.
  bool place(Settings& settings, const PlantStats& stats);

  /// {"placement", "device", "decoded", "augmented", "stayed", "returned", "launches", "at_once", "busy_s",
  /// "not_augmented": why it makes no rows, "unused": why there is none}
  nlohmann::json to_json() const;
  /// Why the device decodes nothing, or nothing any more; once.
  std::string take_warning();

 private:
  Result<std::shared_ptr<LateStage>> make(const Plan& plan, Engine& engine) const;

  const PlacementChoice choice_;
  bool entered_ = false;
  std::shared_ptr<LateStage> decoder_;
  std::string warning_;          // that nobody has taken
  std::string unused_;           // why there is none, where one could be
  std::int32_t share_ = kTrial;  // that place() has set last
};

}  // namespace drapps
