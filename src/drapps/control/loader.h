// A described pipeline over a source, under control: what every front, in any language, is a thin cover of.
//
//   auto loader = Loader::make(spec, source, options);
//   auto iterator = (*loader)->iterate({.epoch = 0});
//   while (auto next = (*iterator)->next(50ms)) …
//
// Loaders and iterators are used by one thread at a time. In a child of fork() a loader goes on with an engine of
// the child's own; an iterator belongs to the process that made it.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "drapps/control/client.h"
#include "drapps/control/consumer.h"
#include "drapps/control/data_files.h"
#include "drapps/control/live_plant.h"
#include "drapps/control/loader_cache.h"
#include "drapps/control/loader_device.h"
#include "drapps/control/recording.h"
#include "drapps/deliver/spare_arenas.h"
#include "drapps/pipeline/engine.h"
#include "drapps/pipeline/residence.h"
#include "drapps/pipeline/runner.h"
#include "drapps/policy/config.h"

namespace drapps {

struct LoaderOptions {
  PolicyConfig policy;
  Budget budget;
  std::optional<Settings> settings;  // to start with; the policy's own where absent
  WeightUse weights = WeightUse::kShare;
  CacheOptions cache;
  std::optional<DeviceChoice> device;  // where arrays are to live
  PlacementChoice placement;           // where samples are decoded
};

/// {"policy", "cpu_budget", "ram_budget", "settings", "weights", "cache", "form", "device", "device_memory",
/// "placement"}: all
/// optional, null as absent.
Result<LoaderOptions> parse_options(std::string_view json);
/// {"budget": {"cpus", "ram_bytes"}, "machine": {"cpus", "memory_bytes", "local_ranks"}, "shortages": […]}: in every
/// loader's plan.
nlohmann::json limits_json(const Engine& engine);

class Iterator;

/// Where the time up to the first batch of a pass went, in ns of the monotonic clock; 0 for what has not happened.
struct FirstBatch {
  std::uint64_t began = 0;
  std::uint64_t read = 0;                // the first record; never for rows of arrays
  std::uint64_t made = 0;                // the first sample
  std::atomic<std::uint64_t> given = 0;  // written last, so that who sees it sees the others
};

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
  };

  /// kInvalidArgument says what is wrong with the description, the source or the options.
  /// kResourceExhausted where the system has no memory.
  static Result<std::unique_ptr<Loader>> make(PipelineSpec spec, std::shared_ptr<Source> source, LoaderOptions options);
  ~Loader();

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
  /// Those that it has.
  KnobSet knobs() const noexcept;
  /// Moves the knobs of the passes that live, and of those to come, within the budgets.
  void apply(const Settings& settings);
  /// Another policy from here on (Client::swap), for the passes that live and those to come. kInvalidArgument where it
  /// cannot be made: the old one goes on.
  Status set_policy(PolicyConfig config);
  /// Stops (or resumes) the control plane: no knob moves by itself.
  void freeze(bool frozen);

  /// Records every decision, and all that it depends on, into a new file (trace/format.h), until stop_recording() or
  /// the loader's end; of a pass that runs and of those to come. kInvalidArgument where the file exists or a recording
  /// is under way, kNotFound, kPermission, kIo where it cannot be made.
  Status record(const std::string& path);
  /// Nothing where nothing is recorded.
  void stop_recording();
  /// Why a recording ended by itself, once; else empty.
  std::string take_warning() const;
  /// Why nothing is made on the device, or nothing any more; once, else empty.
  std::string take_device_warning() const;
  /// Whether the latest pass has its arrays on a device.
  bool lives_on_device() const;

 private:
  friend class Iterator;

  Loader(std::shared_ptr<const Plan> plan, std::shared_ptr<Source> source, LoaderOptions options)
      : plan_(std::move(plan)), source_(std::move(source)), options_(std::move(options)) {}
  Result<Sampler> sampler(const Pass& pass) const;
  void enter_process();
  Result<std::unique_ptr<Iterator>> begin(const Pass& pass);
  /// Of mutex_, or of nothing where that is another process's.
  std::unique_lock<std::mutex> lock() const;
  /// Whether a pass began in this process. This and the next one require mutex_.
  bool controlled() const;
  Settings settings_now() const;
  Limits limits_now() const;
  /// Of the plant, which then keeps some.
  Recording::Samples samples() const;
  /// What decodes on a device, made by the first pass; or null.
  Result<std::shared_ptr<LateStage>> late_stage(Engine& engine);
  /// Those that a pass begins with.
  Settings first_settings();
  /// Where the arrays live, made by the first pass; null where they stay.
  Result<std::shared_ptr<Residence>> resident();
  /// There is no memory for that: they stay where they are, from now on. Requires mutex_.
  void leave_device(const Error& error);
  Result<std::unique_ptr<Runner>> run(const Pass& pass, Sampler order, const Settings& settings, Engine& engine,
                                      std::shared_ptr<LateStage> late);

  const std::shared_ptr<const Plan> plan_;
  const std::shared_ptr<Source> source_;
  std::shared_ptr<const DataFiles> files_;  // from the first pass on
  pid_t process_ = 0;                       // that all below belong to, but options_ and frozen_
  std::shared_ptr<Engine::Limit> limit_;    // shared with the passes
  std::shared_ptr<LoaderCache> cache_;
  std::shared_ptr<ArenaPlace> arena_;  // the latest pass's batch memory, between it and the next
  std::shared_ptr<Recording> recording_;
  std::unique_ptr<std::mutex> mutex_;  // guards all below
  LoaderOptions options_;
  bool frozen_ = false;
  std::shared_ptr<LoaderDevice> device_;     // that decodes
  std::shared_ptr<Residence> residence_;     // from the first pass on, where there is to be one
  std::shared_ptr<LivePlant> plant_;         // of all passes, from the first one on; shared with them
  std::shared_ptr<Client> client_;           // likewise
  std::shared_ptr<const FirstBatch> first_;  // of the latest pass
};

/// One pass over one epoch. Destroying it waits for the samples in hand and drops the rest; batches that were
/// yielded stay.
class Iterator {
 public:
  ~Iterator();
  Iterator(const Iterator&) = delete;
  Iterator& operator=(const Iterator&) = delete;

  /// As Runner::next; in another process than its maker's, an Error that says so. Its caller counts as the consumer,
  /// unless consumed_outside() was called.
  std::optional<Runner::Next> next(std::chrono::milliseconds patience);
  /// Who calls next() takes batches ahead of the consumer, and says itself when that one asks for a batch and is given
  /// it: outside_asks(), outside_gives().
  void consumed_outside() noexcept { outside_ = true; }
  void outside_asks();
  void outside_gives();
  /// Ends the pass early: next() is Finished from then on.
  void close();

  /// Global position that the batches taken so far have consumed.
  std::uint64_t position() const noexcept { return position_; }
  /// Steps still to be taken.
  std::uint64_t left() const noexcept { return left_; }
  /// See Runner::cursors(); of a closed pass those at position().
  std::vector<StreamCursor> cursors(std::uint64_t position) const;
  /// Bad samples so far.
  std::vector<Error> bad_samples() const;
  /// Pixels of the pictures in the batches taken so far of which Pillow warns, those that were not told of yet.
  std::vector<std::uint64_t> take_large_pictures();
  /// What it counted, or null once closed.
  const Runner* runner() const noexcept { return runner_.get(); }
  /// ns that the consumer has waited for batches.
  std::uint64_t stall_ns() const noexcept { return consumer_ == nullptr ? 0 : consumer_->stall_ns(); }

 private:
  friend class Loader;
  Iterator(std::shared_ptr<Engine::Limit> limit, std::unique_ptr<Runner> runner, std::shared_ptr<LivePlant> plant,
           std::shared_ptr<Client> client, std::weak_ptr<ArenaPlace> arena, std::shared_ptr<FirstBatch> first);

  const pid_t maker_;
  std::shared_ptr<Engine::Limit> limit_;  // budgets hold as long as something runs under them
  std::unique_ptr<Runner> runner_;        // null once closed
  std::shared_ptr<LivePlant> plant_;
  std::shared_ptr<Client> client_;
  std::weak_ptr<ArenaPlace> arena_;  // the loader's, while that lives
  std::shared_ptr<FirstBatch> first_;
  std::unique_ptr<ConsumerClock> consumer_;
  bool outside_ = false;
  std::uint64_t helped_ns_ = 0;  // by the consumer, since it asked for the batch that it waits for
  std::uint64_t position_;
  std::uint64_t left_;
  std::vector<Error> bad_;  // of a closed pass, and so on
  std::vector<StreamCursor> cursors_;
};

}  // namespace drapps
