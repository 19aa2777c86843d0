// The running pipeline as a plant: what the control plane sees of a loader's runners, and all it sees.
#pragma once

#include <array>
#include <memory>
#include <mutex>
#include <vector>

#include "drapps/control/consumer.h"
#include "drapps/control/plant_stats.h"
#include "drapps/pipeline/engine.h"
#include "drapps/pipeline/runner.h"
#include "drapps/plant/plant.h"

namespace drapps {

/// What the machine's budgets allow a plan, given what other loaders of the process already use: a batch needs room
/// before it counts, and half of what is left stays for whoever comes next. What yields to a batch counts as free.
///
/// @param late  what decodes samples on a device, or null.
Limits live_limits(const Plan& plan, const Engine& engine, const LateStage* late);

/// All passes of a loader are one plant. Each attaches its runner while it lasts, several at once where they live side
/// by side, and none between them: then the plant is finished, and what is applied waits for the next one. Counters are
/// of all passes so far, so they never run backwards; ready_batches are those of the attached ones.
class LivePlant final : public Plant {
 public:
  /// @param storage  what its records come from.
  /// @param late  what decodes samples of all its passes on a device, or null.
  LivePlant(Engine& engine, std::shared_ptr<const Storage> storage, const Settings& settings, const Limits& limits,
            std::shared_ptr<const LateStage> late = nullptr);

  /// A pass begins, and the settings in force are fitted to its limits.
  /// @param runner  lives until its detach().
  void attach(Runner& runner, const Limits& limits);
  /// Keeps what the runner counted. Nothing is asked of it any more.
  void detach(const Runner& runner);

  /// The limits of the latest pass, with the workers that the machine gives now and the memory that others do not need.
  Limits limits() const override;
  PlantCounters counters() const override;
  Settings settings() const override;
  Observation observe() override;
  void apply(const Settings& settings) override;

  /// All that was counted so far. A call takes nothing from what observations see.
  PlantStats stats() const;
  /// The slowest samples so far, slowest first.
  std::vector<SampleTimes> slowest() const;
  /// From now on some of the samples that are made are kept for take_samples(), at most `room`; 0: none, as at first.
  void sample(std::size_t room);
  /// The samples that were kept since the last call, or since sample().
  SampleReservoir take_samples();
  /// The consumer's times, for the clocks of the plant's passes.
  const std::shared_ptr<ConsumerTimes>& consumer() const noexcept { return consumer_; }

 private:
  LaneSet valid_lanes() const;
  LaneCounts counts(std::size_t lane) const;
  bool came(std::size_t lane) const;
  /// Mean size of a record to come, or of those that this process has read; 0 where neither is known.
  double record_bytes(const Runner& runner) const;
  StorageObservation observe_storage();
  device::DeviceCounts device_counts() const;

  Engine& engine_;
  const std::shared_ptr<const Storage> storage_;
  const std::shared_ptr<const LateStage> late_;
  const std::shared_ptr<ConsumerTimes> consumer_ = std::make_shared<ConsumerTimes>();
  mutable std::mutex mutex_;  // guards all below
  Limits limits_;
  Settings settings_;  // applied last
  LaneSet fused_;      // the lanes of a fused plan
  LaneSet lanes_;      // all that the plan has, and fetch
  std::vector<Runner*> runners_;
  // What runners that were detached had counted.
  std::uint64_t batches_ = 0;
  std::uint64_t samples_ = 0;
  std::uint64_t failed_samples_ = 0;
  device::DeviceCounts device_;
  SampleLog log_;
  std::size_t sample_room_ = 0;
  std::array<LaneCounts, kLanes.size()> counted_;
  // The histograms at the observation before.
  std::array<LaneCounts, kLanes.size()> lanes_before_;
  StorageCounts storage_before_;
  Upcoming upcoming_before_;
};

}  // namespace drapps
