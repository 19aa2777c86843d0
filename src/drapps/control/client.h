// One plant under one policy: observe, decide, guard, apply, log.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>

#include "drapps/control/decision_log.h"
#include "drapps/control/learning_decider.h"
#include "drapps/control/meters.h"
#include "drapps/control/shares.h"
#include "drapps/policy/config.h"
#include "drapps/trace/writer.h"

namespace drapps {

/// Every member may be called from any thread; one tick runs at a time. No exception leaves it: what the policy or the
/// plant throws stops this client until it gets another policy, is kept in the log, and leaves the knobs where they
/// are.
///
/// Clients with the same `shares`, which outlive them, take turns in trying something and share the cores. `meters`,
/// which outlive them too, are read for each decision, and once before the first one of a pass, so that its rates are
/// of that pass alone.
///
/// Where the config of the policy says so, the policy goes on learning (live_learner.h), and begins with the weights
/// that were kept last.
///
/// A client owns a share of its plant. The last share may be dropped by the control thread, so a plant must not wait
/// for anything in its destructor.
class Client {
 public:
  /// @param config  what the policy was made of, for recordings; absent: its name alone.
  Client(std::shared_ptr<Plant> plant, std::unique_ptr<const Policy> policy, Shares* shares = nullptr,
         std::optional<PolicyConfig> config = {}, Meters* meters = nullptr);
  ~Client();

  /// For the log and the recording: a pass begins.
  void begin_epoch(std::uint32_t epoch);
  /// For the log: something happened that moved no knob.
  void remark(std::string why, std::string more) { log_.remark(std::move(why), std::move(more)); }

  /// Decides if a decision is due by the policy's pace (a policy that is not guarded decides at every tick). `clock` is
  /// the one in which the plant's observations are timed, in ns; it is read after the policy has decided, so that what
  /// took too long is stale.
  void tick(const std::function<std::uint64_t()>& clock) noexcept;

  /// Once freeze() returned, nothing moves until unfreeze(). Waits for a tick that is under way.
  void freeze();
  void unfreeze();
  /// Another policy decides from here on, and remembers nothing; guard, clocks, log and knobs stay as they are. A
  /// client that had failed goes on with it. Waits for a tick that is under way.
  void swap(std::unique_ptr<const Policy> policy, std::optional<PolicyConfig> config = {});
  /// Records that the control plane ended from outside: no policy can go on.
  void stop(std::string_view why) noexcept;

  /// Every decision from here on is recorded, and all that it depends on, until the writer has ended. Waits for a tick
  /// that is under way.
  /// @param samples  gives the samples since it was asked last; it is asked at each decision.
  void record(std::shared_ptr<trace::TraceWriter> writer, std::function<trace::SampleBatch()> samples = {});

  const DecisionLog& log() const noexcept { return log_; }
  /// LiveLearner::to_json(), or null where the policy does not go on learning.
  nlohmann::json learning() const;

 private:
  void decide(const std::function<std::uint64_t()>& clock);
  void decided(const PlantCounters& now) noexcept;
  Limits limits() const;
  MeterObservation read_meters(std::uint64_t now_ns);
  void fail(std::string_view why) noexcept;
  void learn(std::uint64_t now_ns);
  /// The learner, or null.
  std::shared_ptr<LiveLearner> learner() const;
  void keep_learnt();
  void record(const Observation& seen, const Decision& decision);
  /// Null where nothing is recorded.
  std::shared_ptr<trace::TraceWriter> recorder() const;

  const std::shared_ptr<Plant> plant_;
  Shares* const shares_;
  Meters* const meters_;
  DecisionLog log_;
  std::atomic<bool> began_ = true;  // a pass, since the plant was looked at

  mutable std::mutex recorder_mutex_;  // guards recorder_
  std::shared_ptr<trace::TraceWriter> recorder_;

  mutable std::mutex mutex_;  // guards all below
  std::function<trace::SampleBatch()> samples_;
  LearningDecider decider_;
  std::uint64_t seen_ns_ = 0;  // when the plant was looked at last
  std::uint64_t decided_ns_ = 0;
  std::uint64_t decided_batches_ = 0;
  std::uint64_t decided_samples_ = 0;
  bool frozen_ = false;
  bool stopped_ = false;
  bool ended_ = false;  // by stop(), which also sets stopped_
};

}  // namespace drapps
