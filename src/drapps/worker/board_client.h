// A worker process's side of a board: it takes work, runs it, hands the results over.
//
//   next() → a task: for each piece, begin() … finish(); wait for stolen pieces; deliver()
//          → a piece of another's task: deliver_piece()
//
// An owner whose piece another had begun must try again: the other may die, or find that it cannot send its result.
// So the loop of an owner is: begin() every piece that it has not made; while not ready(), next(pending = true), do
// what it gives, and try the missing pieces again.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <span>

#include "drapps/base/result.h"
#include "drapps/exec/cpu_budget.h"
#include "drapps/shm/block_arena.h"
#include "drapps/worker/claim.h"
#include "drapps/worker/heartbeat.h"
#include "drapps/worker/packet.h"
#include "drapps/worker/progress.h"

namespace drapps {

struct Work {
  enum class WorkKind : std::uint8_t { kNone, kTask, kPiece, kStop };
  WorkKind kind = WorkKind::kNone;
  std::uint64_t ticket = 0;
  std::int32_t piece = -1;
  std::uint32_t pieces = 0;
  std::uint32_t worker = 0;  // the virtual worker whose task it is
  std::uint64_t position = 0;
  std::span<std::byte> input;  // good until the task ends
  MappedBlock block;           // in which the input lies
};

/// For one thread, but for allocate(), and handles, which may be dropped anywhere. In a child of the worker nothing but
/// destruction is allowed, and that does nothing.
class BoardClient {
 public:
  /// Attaches to a board, in the process that is to work under an enlisted number.
  /// @param budget  descriptor of a CpuBudget, which next() and begin() sleep for; -1: none
  static Result<std::unique_ptr<BoardClient>> attach(int fd, std::uint32_t number, int budget = -1);
  static Result<std::unique_ptr<BoardClient>> attach(const std::shared_ptr<BoardMemory>& memory, std::uint32_t number);
  ~BoardClient();
  BoardClient(const BoardClient&) = delete;
  BoardClient& operator=(const BoardClient&) = delete;

  const std::shared_ptr<BoardMemory>& memory() const noexcept { return memory_; }

  /// Starts the thread that shows that the process lives, and ends it with its parent. See Heartbeat.
  Status start_heartbeat(const Parent& parent, bool kill_with_parent);

  /// Waits for work. kNone after the timeout, or early where a signal handler ran; kStop where the process is to end.
  /// @param pending  this process still waits for pieces of its own tasks: then never kStop, and kNone also as soon as
  ///                 something about its tasks has changed since the last call.
  /// kCorrupt where a task's input is not there.
  Result<Work> next(std::chrono::nanoseconds timeout, bool pending);

  /// Begins a piece of an own task, once the CPU budget allows it. False where another has begun or made it, and where
  /// the task is not this process's.
  bool begin(std::uint64_t ticket, std::uint32_t piece);
  /// The piece begun last is made, and kept here. False where this process had not begun it.
  bool finish(std::uint64_t ticket, std::uint32_t piece) noexcept;
  void enter(Activity activity) noexcept { progress_.enter(activity); }
  /// Whether every piece of an own task is made, here or elsewhere.
  bool ready(std::uint64_t ticket) const noexcept;
  /// Another's result of a piece of an own task; nothing where there is none, kCorrupt where it is not one. Good until
  /// the task ends.
  Result<std::optional<Packet>> delivered(std::uint64_t ticket, std::uint32_t piece) const;

  /// Ends an own task with its result. It need not be ready: an error may come before all pieces are made.
  /// kInvalidArgument where the task is not this process's; kTooLarge or kResourceExhausted where the result finds no
  /// room, and the task stays as it is.
  Status deliver(std::uint64_t ticket, std::uint32_t kind, std::span<const Bytes> parts);
  /// Hands the result of another's piece over. Fails as deliver() does.
  Status deliver_piece(std::uint64_t ticket, std::uint32_t piece, std::uint32_t kind, std::span<const Bytes> parts);
  /// Gives another's piece back: its result cannot be sent, so only the owner may run it.
  Status reopen_piece(std::uint64_t ticket, std::uint32_t piece);
  /// Ends an own task without a result.
  Status drop(std::uint64_t ticket);
  /// Whether nobody wants the task any more.
  bool cancelled(std::uint64_t ticket) const noexcept;

  /// Memory for a part of a result, which then goes by reference. See BlockArena::allocate().
  Result<BlockHandle> allocate(std::uint64_t bytes);

 private:
  BoardClient(const std::shared_ptr<BoardMemory>& memory, std::uint32_t number);

  bool pay();
  void disown_strange();
  Result<Work> work_of(const Claim& claim);
  void book_work(TaskEntry& task) noexcept;
  bool owns(const TaskEntry& task, std::uint64_t ticket) const noexcept;
  bool runs(const TaskEntry& task, std::uint64_t ticket, std::uint32_t piece) const noexcept;
  Status end_task(TaskEntry& task, std::uint64_t ticket, std::uint64_t output);

  const std::shared_ptr<BoardMemory> memory_;
  const std::uint32_t number_;
  BlockArena arena_;
  ProcessEntry& process_;
  Claimer claimer_;
  std::set<std::uint64_t> owned_;  // tickets of own tasks
  std::uint32_t heard_ = 0;        // its wake-ups that it knows of
  bool wake_passed_on_ = false;    // on retirement
  std::optional<Heartbeat> heartbeat_;
  std::optional<CpuBudget> budget_;
  std::uint64_t (*const cpu_clock_)();
  ProcessProgress progress_;
  std::optional<std::uint64_t> booked_ns_;  // time of cpu_clock_ that is booked; nothing while no budget is in force
};

}  // namespace drapps
