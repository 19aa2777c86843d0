// The parent's side of worker processes: it publishes tasks and takes results.
//
//   publish(input, …) → a worker claims the task, others steal pieces of it → wait(ticket) → take(ticket)
//
// Where a process dies, the parent reaps it: what it had begun is open again, what it had delivered stays, memory that
// nobody refers to any more is released. So every task is completed exactly once, whatever dies when.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "drapps/base/histogram.h"
#include "drapps/base/result.h"
#include "drapps/shm/block_arena.h"
#include "drapps/worker/board_memory.h"
#include "drapps/worker/packet.h"
#include "drapps/worker/process_times.h"

namespace drapps {

/// What is to be done, apart from its input.
struct TaskRequest {
  std::uint32_t worker = 0;    // the virtual worker that it belongs to
  std::int32_t process = -1;   // the only process that may take it, or -1
  std::uint32_t pieces = 0;    // what others may steal; 0: the task is one whole
  bool urgent = false;         // comes before all that is not
  std::uint64_t position = 0;  // of its first sample, for status() and slowest()
};

/// A part of a result. The bytes are the holder's to write, until the handle is gone.
struct HeldPart {
  BlockHandle handle;
  std::span<std::byte> data;
};

struct TakenResult {
  std::int64_t kind = -1;  // -1: the worker dropped the task
  std::vector<HeldPart> parts;
};

/// A task whose owner died (piece -1), or a piece that died with the process that ran it; both are open again.
struct Lost {
  std::uint64_t ticket;
  std::int32_t piece;
};

struct ProcessStatus {
  std::int32_t pid = 0;
  std::uint64_t heartbeats = 0;  // grows while the process is not stopped
  double cpu_seconds = 0;
  ProcessTimes times;         // where its time went; after its death what was known of it
  double busy_seconds = 0;    // part of `times`: samples and collations
  double paused_seconds = 0;  // part of `times`: slept because the CPU budget was used up
  std::uint64_t samples = 0;
  std::uint64_t tasks = 0;
  Activity activity = Activity::kStarting;
  std::int64_t ticket = -1;  // this and the next two: of the last sample begun; -1: none yet
  std::int32_t piece = -1;
  std::uint64_t position = 0;
  double since_seconds = 0;  // age of the activity
  // The way to its first sample; -1: not there yet.
  double launch_seconds = -1;        // from enlist() to attach(): the process starts
  double setup_seconds = -1;         // from attach() until it asks for work
  double first_sample_seconds = -1;  // from asking until it has made one, waiting for work included
};

struct Slow {
  double seconds;
  std::uint64_t position;
};

/// What tasks have gone through, as a lane of Python code; of tasks that were taken.
struct PythonLane {
  Histogram queue_length;  // tasks that waited to be claimed when one more was published
  Histogram wait;          // ns from publish() until the process claimed it that ended it
  Histogram
      service_wall;  // ns of work on a piece of a task, its part of the collation in it; or on one that is a whole
};

/// Thread-safe. In a child of the process that made it nothing but destruction is allowed, and that does nothing.
class Board {
 public:
  static constexpr std::chrono::nanoseconds kForever = std::chrono::nanoseconds::max();

  /// See BoardMemory::make().
  static Result<std::unique_ptr<Board>> make(std::uint32_t max_processes, std::uint32_t max_tasks,
                                             std::uint64_t region_bytes = 0);

  const std::shared_ptr<BoardMemory>& memory() const noexcept { return memory_; }

  // ---- tasks

  /// Copies `input` and opens a task. The ticket grows with each; nothing where as many tasks are under way as the
  /// board has room for. kInvalidArgument for an order that makes no sense, kResourceExhausted without memory.
  Result<std::optional<std::uint64_t>> publish(Bytes input, const TaskRequest& request);
  /// How many tasks came to an end, modulo 2^32; also raised by reap().
  std::uint32_t events() const noexcept;
  /// Waits until done(). False after the timeout, or early where a signal handler ran.
  bool wait(std::uint64_t ticket, std::chrono::nanoseconds timeout) const;
  /// Waits until events() is another than `seen`, the timeout has passed, or a signal handler ran. Gives events().
  std::uint32_t wait_event(std::uint32_t seen, std::chrono::nanoseconds timeout) const;
  /// Whether take() has something to say of the task: its result, or that its entry was overwritten.
  bool done(std::uint64_t ticket) const noexcept;
  /// The result of a task that is done, which leaves the board. kNotFound for any other; kCorrupt where the worker
  /// wrote a result that is none, and where the task's entry does not say any more who has it.
  Result<TakenResult> take(std::uint64_t ticket);
  /// The task is not wanted any more. Returns at once; a process that is at it ends its piece first.
  void cancel(std::uint64_t ticket);
  /// Gives a task that nobody has taken yet to one process, or to any (-1). One that is taken stays where it is, but
  /// that -1 lets others take pieces of it.
  void repin(std::uint64_t ticket, std::int32_t process);

  // ---- processes

  /// The number of a new process, whose region is empty. kResourceExhausted where there is none.
  Result<std::uint32_t> enlist();
  /// The process takes nothing new, and ends when it has nothing left to do.
  void retire(std::uint32_t number);
  /// All processes end after their current sample; their tasks count as cancelled.
  void stop();
  /// Clears up after a process that is dead, however it ended. Requires that it is dead. Gives what became open again,
  /// by ticket.
  std::vector<Lost> reap(std::uint32_t number);
  /// The status of the process that has or had this number.
  ProcessStatus status(std::uint32_t number) const;
  /// The slowest samples of all processes that are not reaped, slowest first.
  std::vector<Slow> slowest() const;

  const PythonLane& python_lane() const noexcept { return python_lane_; }

  // ---- memory

  /// Bytes of all blocks that somebody holds.
  std::uint64_t bytes_in_use();
  /// Bytes of memory that are backed by pages.
  std::uint64_t resident() const noexcept { return memory()->resident(); }

 private:
  /// What was published under a ticket, until it is taken or cancelled.
  struct Published {
    std::uint64_t ticket = kNoTicket;
    TaskRequest request;
    std::uint64_t at_ns = 0;
    bool done = false;  // it is done, and its pieces are released
  };
  /// What is known of a process by what was read last.
  struct KnownProcess {
    ProcessTimes times;
    bool over = false;  // the process is dead
  };

  explicit Board(std::shared_ptr<BoardMemory> memory);

  TaskEntry& entry(std::uint64_t ticket) const noexcept { return memory()->task(ticket); }
  bool under_way(std::uint64_t ticket) const noexcept;
  std::uint64_t open_tasks() const noexcept;
  void count_in_lane(const TaskEntry& task, const Published& published) noexcept;
  ProcessTimes times(std::uint32_t number) const;
  Published& published(std::uint64_t ticket) { return published_[ticket % published_.size()]; }
  bool overwritten(std::uint64_t ticket) const noexcept;
  bool has_owner_or_none(const Word& word) const noexcept;
  void write_again() const;
  Result<TakenResult> result_at(std::uint64_t manifest);
  void release_pieces_of_done();
  bool sweep(TaskEntry& task);
  void pass_over_ended();
  void sweep_all();
  void reopen_tasks_of(std::uint32_t number, std::vector<Lost>& lost);
  void clear_region_of(std::uint32_t number);
  bool try_empty_region(std::uint32_t number) const;

  const std::shared_ptr<BoardMemory> memory_;
  BlockArena arena_;
  PythonLane python_lane_;

  mutable std::mutex known_mutex_;
  mutable std::vector<KnownProcess> known_;  // by process number; guarded by the mutex above

  mutable std::mutex mutex_;  // guards all below, and the tasks against another thread of the parent
  std::uint64_t next_ticket_ = 0;
  std::uint64_t oldest_ = 0;          // as in the header, which others can write to
  std::uint32_t unswept_ = 0;         // tasks that are cancelled or closing
  std::vector<Published> published_;  // by place
};

}  // namespace drapps
