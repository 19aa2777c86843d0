// Worker processes that run a loader's Python code as a plant.
//
// They are started by the consumer's thread alone, between two batches or while it waits for one: it asks wanted(), and
// says who came and who has ended. Surplus ones are retired here at once, so that a cut is obeyed while the consumer is
// elsewhere; not where virtual workers have to move out of them first.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "drapps/control/consumer.h"
#include "drapps/control/plant_stats.h"
#include "drapps/pipeline/engine.h"
#include "drapps/plant/plant.h"
#include "drapps/worker/board.h"

namespace drapps {

/// How the number of processes may change.
enum class ScalingMode : std::uint8_t {
  kFixed,      // not at all
  kMigrating,  // the consumer moves virtual workers from one to the other
  kFree,       // any process makes any sample
};

/// All passes of a loader are one plant. Each attaches its board while it lasts; of several the latest one counts.
class ProcessPlant final : public Plant {
 public:
  explicit ProcessPlant(Engine& engine) : engine_(engine), shared_(&engine.memory(MemoryUse::kProcesses)) {}

  // ---- the consumer's side

  /// A pass begins, in so many processes that are still to be started.
  void attach(std::shared_ptr<Board> board, std::int32_t processes);
  void detach(const Board& board);
  /// How the number of processes may change, and how many there may be at most.
  void set_scaling(ScalingMode scaling, std::int32_t most);
  /// The process in `number` was started.
  void joined(std::uint32_t number, std::int32_t pid);
  /// The process in `number` was retired, or has ended.
  void retired(std::uint32_t number);
  void left(std::uint32_t number);
  /// The consumer asks for a batch, and is given it. Of the time between the two it is a stall where it waits for
  /// processes: from waits() to waited().
  void asks();
  void waits();
  void waited();
  void gives();
  /// There is no batch any more.
  void ends();
  /// The processes have had nothing to do: a pass ends or begins, or the consumer was away.
  void idle();
  /// Batches have so many samples from here on; 0: that is not known.
  void set_batch(std::uint64_t samples) noexcept { clock_.set_batch(samples); }
  /// Another pass in the same processes.
  void begin_pass();
  /// The setting: as many are wanted.
  std::int32_t processes() const;
  /// The consumer sets how many processes are wanted: what it begins with, or what could be started.
  void want(std::int32_t processes);
  /// Numbers of processes that were retired here since the last call.
  std::vector<std::uint32_t> take_retired();

  // ---- the control plane's

  Limits limits() const override;
  PlantCounters counters() const override;
  Settings settings() const override;
  Observation observe() override;
  void apply(const Settings& settings) override;
  std::vector<std::int32_t> worker_pids() const override;

  PlantStats stats() const;

 private:
  struct MemberProcess {
    std::int32_t pid = 0;
    bool seen = false;  // the counters are those of the last look
    std::uint64_t cpu_ns = 0, paused_ns = 0, delay_ns = 0, items = 0, samples = 0;
  };

  void look(std::uint64_t now) const;
  WorkerTimes times() const;
  LaneCounts python() const;
  void leave_board();
  void part_with(std::uint32_t number);
  std::uint64_t count_made(MemberProcess& member, const ProcessStatus& status) const;
  std::int32_t working() const { return static_cast<std::int32_t>(joined_.size()); }

  const Engine& engine_;
  mutable std::mutex mutex_;  // guards all below
  std::shared_ptr<Board> board_;
  mutable MemoryLedger shared_;                             // of the board, by the last look
  mutable std::map<std::uint32_t, MemberProcess> members_;  // by number
  std::vector<std::uint32_t> joined_;                       // numbers of those that work, the eldest first
  std::vector<std::uint32_t> surplus_;
  ScalingMode scaling_ = ScalingMode::kFixed;
  std::int32_t most_ = 0;
  Settings settings_;
  mutable ProcessObservation counted_;
  std::uint64_t batches_ = 0;
  mutable std::uint64_t samples_ = 0;  // made one by one
  mutable std::uint64_t looked_ns_ = 0;
  WorkerTimes gone_;           // of processes that have ended
  mutable WorkerTimes shown_;  // that were read last
  LaneCounts python_;          // of boards that were detached
  LaneCounts python_before_;   // at the observation before

  // The consumer's thread alone.
  const std::shared_ptr<ConsumerTimes> consumer_ = std::make_shared<ConsumerTimes>();
  ConsumerClock clock_{consumer_};
  std::uint64_t asked_ns_ = 0;
  std::uint64_t wait_began_ns_ = 0;
  std::uint64_t waited_ns_ = 0;  // since it asked
};

}  // namespace drapps
