// Runs a plan over one epoch: from indices to batches, in order, on the engine's workers.
//
// 1. The sampler gives the order. The executor reads ahead in it, at most io_depth records at a time and no
//    further than the batches under way; a worker reads by itself what needs no waiting.
// 2. A worker takes one sample at a time, the earliest first, and runs a whole lane of the plan on it. Where samples
//    wait for several lanes, the stride scheduler says which.
// 3. A sample's row is written straight into its batch's slot. The worker whose row is the last to land removes bad
//    rows and runs the batch ops; then the batch is delivered, in order. At most prefetch_depth batches are under way
//    or waiting.
// 4. Memory comes from the engine's ledger. A sample that finds none left waits until others have finished. Where
//    nothing else is under way, everybody's idle memory is released; then it is an error, at once or, where other
//    executors work within the same budget, after some seconds. Such an error is raised under every OnError: it says
//    nothing about the sample, and what a batch holds must not depend on the budget. An exception in a sample's work
//    ends there: a failed allocation is such a lack of memory, any other an error of its own. All that is kept of tasks
//    has its place before they begin, so that counting them down takes no memory.
//
// 5. Of a pass with a device that decodes, device_share.h says which samples are offered to it. One that it takes is no
//    worker's until it comes back, holds no workspace, and then waits for its lane as one that was read. What the
//    device does not take, or has no room for, goes on at once as all others.
//
// What it keeps for that are parts with a state of their own: which sample begins next and who reads it (ReadAhead),
// the queues before the lanes (LaneQueues), what waits for memory (Starvation), and the tasks themselves (TaskPool).
//
// A worker that has made a short sample takes its next one with the lock that it holds anyway, for as long as that is
// short, too: locks, and others that wait for them, would cost as much as such samples.
//
// Nothing of this order depends on the knobs: they change when, never what.
#pragma once

#include <array>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "drapps/base/knob.h"
#include "drapps/pipeline/lane_queues.h"
#include "drapps/pipeline/read_ahead.h"
#include "drapps/pipeline/starvation.h"
#include "drapps/pipeline/task.h"
#include "drapps/pipeline/task_pool.h"
#include "drapps/pipeline/window_runner.h"
#include "drapps/source/sampler.h"
#include "drapps/storage/reader.h"

namespace drapps {

class Executor final : public WindowRunner, private ReadSink, private LateSink {
 public:
  /// Starts working at once. Requires parts.arena.
  static Result<std::unique_ptr<Executor>> make(const RunnerParts& parts);
  ~Executor() override;

  void apply(const Settings& settings) override;
  WorkFound run_one() noexcept override;

 private:
  /// Reads to hand to the reader once the lock is released.
  struct Reads {
    std::array<SampleTask*, kMaxReadDepth> request;
    std::size_t count = 0;
  };

  /// Samples that a worker has made one after another, without coming out of run_one().
  struct WorkerTurn {
    std::uint64_t spent_ns = 0;
    std::uint32_t samples = 0;
  };

  explicit Executor(const RunnerParts& parts);

  // The scheduler (executor_schedule.cc). All but the first require mutex_.
  void schedule(const Settings& settings);
  SampleTask* pick();
  WorkFound nothing() const;
  const std::vector<PlanLane>& lanes() const;
  const PlanLane& lane_of(const SampleTask& task) const { return plan_->lanes.of(task.way.fused)[task.way.lane]; }
  bool can_start_next();
  void add_task();
  void add_workspace(SampleTask& task);
  SampleTask& start_next();
  void enter(SampleTask& task) { queues_.enter(task, lanes().front().place); }
  Reads read_ahead();
  void queue_read();
  std::size_t most_tasks() const;
  std::size_t most_inside() const;
  void note_tried(SampleTask& task);
  void leave(SampleTask& task);

  // What workers do (executor_work.cc). None holds mutex_ on entry. The first two and finish() give the worker's next
  // task where they have found one, or null.
  SampleTask* work(SampleTask& task, WorkerTurn& turn);
  SampleTask* settle(SampleTask& task, Status status, WorkerTurn& turn);
  bool fetch(SampleTask& task, Status& status);
  Status fetch_waiting(SampleTask& task);
  Status run_lane(SampleTask& task);
  Status prepare(SampleTask& task);
  void pass_on(SampleTask& task);
  Status replace(SampleTask& task, Error first);
  SampleTask* finish(SampleTask& task, Status status, WorkerTurn& turn);
  void log(const SampleTask& task, bool good) noexcept;
  void submit(const Reads& reads);
  void read_done(ReadRequest& request, Status status) noexcept override;

  // Samples that found no memory (executor_memory.cc). The first holds mutex_ not on entry, all others require it.
  bool starve(SampleTask& task, Status& status);
  bool begin_alone(SampleTask& task);
  bool alone(const SampleTask& task) const;
  void renew(SampleTask& task);
  void set_aside(SampleTask& task);
  bool resume_starved();
  void free_memory() noexcept override;

  // Samples that a device decodes (executor_late.cc). The first three require mutex_.
  bool offers(const SampleTask& task) const;
  void want_late(SampleTask& task);
  void withdraw(SampleTask& task);
  bool hand_over(SampleTask& task, bool good);
  bool list_late(SampleTask& task) noexcept;
  void late_decoded(Sample& sample) noexcept override;

  void retry() override { resume_starved(); }
  void taken(Lock& lock) override;

  const WeightUse weights_;
  const std::shared_ptr<LateStage> decoder_;  // or null; before the tasks, whose samples hold memory of it

  // The mutex guards all below but the reader.
  Settings settings_;
  bool stopping_ = false;
  TaskPool pool_;
  ReadAhead ahead_;
  LaneQueues queues_;
  Starvation starvation_;
  std::size_t decoding_ = 0;  // tasks that a device has, or is about to be offered
  bool rows_stay_;            // rows that it finishes may stay there
  std::condition_variable none_late_;

  std::unique_ptr<Reader> reader_;  // last: its threads call read_done()
};

}  // namespace drapps
