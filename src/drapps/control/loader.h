// A described pipeline over a source, under control: what every front, in any language, is a thin cover of.
//
//   auto loader = Loader::make(spec, source, resources);
//   auto iterator = (*loader)->iterate({.epoch = 0});
//   while (auto next = (*iterator)->next(50ms)) …
//
// Loaders and iterators are used by one thread at a time. In a child of fork() a loader goes on with an engine of
// the child's own; an iterator belongs to the process that made it.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "drapps/base/per_process.h"
#include "drapps/control/control.h"
#include "drapps/control/data_files.h"
#include "drapps/control/iterator.h"
#include "drapps/control/live_plant.h"
#include "drapps/control/loader_cache.h"
#include "drapps/control/loader_device.h"
#include "drapps/control/loader_residence.h"
#include "drapps/control/loader_upload.h"
#include "drapps/control/resources.h"
#include "drapps/deliver/spare_arenas.h"
#include "drapps/pipeline/engine.h"
#include "drapps/pipeline/runner.h"

namespace drapps {

/// All members may be called from any thread; after a fork, from the child's first one alone until iterate() returned.
class Loader {
 public:
  struct Pass {
    std::uint32_t epoch = 0;
    std::uint64_t start = 0;            // global position
    IndexList order;                    // the user's own order of this rank, or null
    std::optional<std::uint64_t> seed;  // instead of the description's two
    bool ahead = true;                  // false: rows of arrays are read when their batch is asked for, not before
    std::vector<StreamCursor> cursors;  // as Iterator::cursors() gave them at this start; may be empty
    std::string device;                 // that finishes the batches where it can (device/open.h), or empty
  };

  /// kInvalidArgument says what is wrong with the description, the source or the resources.
  /// kResourceExhausted where the system has no memory.
  static Result<std::unique_ptr<Loader>> make(PipelineSpec spec, std::shared_ptr<Source> source, Resources resources);

  /// Steps of an epoch from a position on; the same on every rank.
  Result<std::uint64_t> steps(const Pass& pass) const;
  /// Starts a pass. Several may live at once, and outlive the loader. kResourceExhausted where the system has no
  /// memory, threads or descriptors for it; nothing of it is left then.
  Result<std::unique_ptr<Iterator>> iterate(const Pass& pass);

  /// {"plan": …, "forms": …, "decisions": …}: what runs, what is kept of the samples from pass to pass, and what the
  /// control plane did.
  nlohmann::json explain() const;
  /// All that was counted so far, see plant_stats.h; and "slowest": samples with their "name", "storage": what it is,
  /// "machine": see meters.h.
  nlohmann::json stats() const;
  /// The knobs as they stand now: those that the next pass begins with.
  Settings settings() const;
  /// The knobs that the loader has.
  KnobSet knobs() const noexcept;
  /// Moves the knobs of the passes that live, and of those to come, within the budgets.
  void apply(const Settings& settings);

  /// Its control plane: the policy, what it decides, and what stops it.
  Control& control() noexcept { return control_; }
  /// As Control::record(), of a pass that runs and of those to come, and of some of the samples that they make.
  Status record(const std::string& path);
  /// Why nothing is made on the device, or nothing any more; once, else empty.
  std::string take_device_warning() const;
  /// Whether the batches of the latest pass lie on a device.
  bool on_device() const;

 private:
  /// What one process has.
  struct Own {
    Own(Engine& engine, const Plan& plan, const std::shared_ptr<Source>& source, const Resources& resources);

    const std::shared_ptr<Engine::Limit> limit;  // shared with the passes
    LoaderCache cache;
    const std::shared_ptr<ArenaPlace> arena;         // the latest pass's batch memory, between it and the next
    const std::shared_ptr<ArenaPlace> pinned_arena;  // as `arena`, of passes that a device finishes
    std::mutex mutex;                                // guards all below, and settings_ in this process
    LoaderDevice device;                             // that decodes, and why none is used
    LoaderResidence residence;                       // where the arrays live
    LoaderUpload upload;                             // of batches to a device
    std::shared_ptr<LivePlant> plant;                // of all passes, from the first one on; shared with them
    std::shared_ptr<const FirstBatch> first;         // of the latest pass
  };

  Loader(std::shared_ptr<const Plan> plan, std::shared_ptr<Source> source, Resources resources)
      : plan_(std::move(plan)),
        source_(std::move(source)),
        resources_(std::move(resources)),
        settings_(resources_.settings),
        control_(resources_.policy) {}
  Result<Sampler> sampler(const Pass& pass) const;
  Own& enter_process();
  Result<std::unique_ptr<Iterator>> begin(const Pass& pass);
  /// A lock of this process's mutex, or of nothing where it has none.
  std::unique_lock<std::mutex> lock() const;
  /// The plant of this process, null before its first pass. This and the next two require the mutex.
  LivePlant* plant() const;
  Settings settings_now() const;
  Limits limits_now() const;
  /// The settings that a pass begins with.
  Settings first_settings(Own& own);
  Result<std::unique_ptr<Runner>> run(Own& own, const Pass& pass, Sampler order, const Settings& settings,
                                      Engine& engine, std::shared_ptr<LateStage> late,
                                      std::shared_ptr<BatchUpload> upload);
  /// What brings the batches of a pass to its device, or null.
  std::shared_ptr<BatchUpload> enter_upload(Own& own, const Pass& pass);
  /// Makes the plant, which is under control then.
  void begin_plant(Own& own, Engine& engine, const Settings& settings, const Limits& limits);

  const std::shared_ptr<const Plan> plan_;
  const std::shared_ptr<Source> source_;
  const Resources resources_;
  std::shared_ptr<const DataFiles> files_;  // from the first pass on
  std::optional<Settings> settings_;        // to begin with
  Control control_;
  PerProcess<Own> own_;
};

}  // namespace drapps
