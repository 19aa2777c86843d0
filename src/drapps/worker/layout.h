// What lies in the memory that worker processes share with their parent.
//
//   header | processes | regions' books | tasks | region 0 (the parent's) | region 1 (of process 0) | region 2 | …
//
// Any process may be killed between any two instructions. Hence the rules of everything here:
//   - what a process has taken is said by one word that names it, written by one atomic operation. Whoever sees the
//     process dead finds all that it had by looking for its name;
//   - words carry the ticket of their task, so an operation meant for a task that is gone fails;
//   - nobody waits for a lock; waiting is a futex over a counter, and every wait is repeated now and then;
//   - references are offsets from the beginning of the memory; 0 refers to nothing;
//   - a process that writes where it must not may have written anything: what others wrote is held against its bounds.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "drapps/shm/blocks.h"
#include "drapps/shm/word.h"

namespace drapps {

inline constexpr std::uint32_t kMaxPieces = 256;
inline constexpr std::uint32_t kMaxProcesses = 4096;
inline constexpr std::uint32_t kSlowestKept = 8;
inline constexpr std::uint64_t kNoTicket = ~std::uint64_t{0};

/// The life of a task; process is the owner's number where there is an owner. The owner makes done of owned; all other
/// moves are a claim (open to owned) or the parent's.
enum TaskPhase : std::uint8_t {
  kTaskFree,     // no task: the parent may publish one here
  kTaskOpen,     // nobody's yet
  kTaskOwned,    // one process sees to it
  kTaskDone,     // the result is there
  kTaskClosing,  // taken or cancelled; free as soon as no piece is running any more
};

/// The life of a piece; process is who runs it or has made it.
enum PieceState : std::uint8_t {
  kPieceFree,          // anybody's
  kPieceFreeForOwner,  // only the owner's: its result cannot be sent
  kPieceRunning,
  kPieceLocal,      // made by the owner, which keeps it itself
  kPieceDelivered,  // made by another; the result is there
  kPieceClosed,     // nobody's any more
};

struct alignas(64) TaskEntry {
  std::atomic<std::uint64_t> word;    // Word with a TaskPhase
  std::atomic<std::int32_t> pinned;   // the only process that may own it, or -1
  std::atomic<std::uint32_t> pieces;  // 0: one whole, from which nothing can be stolen
  std::atomic<std::uint32_t> worker;  // the virtual worker that it belongs to
  std::atomic<std::uint32_t> urgent;  // 1: comes first
  std::atomic<std::uint32_t> cancelled;
  std::atomic<std::uint64_t> position;  // of its first sample
  std::atomic<std::uint64_t> input;     // block in the parent's region
  std::atomic<std::uint64_t> input_bytes;
  std::atomic<std::uint64_t> claimed_ns;  // by its owner, CLOCK_MONOTONIC; 0 while there has been none
  std::atomic<std::uint64_t> worked_ns;   // at its samples and its collation, by whoever
  std::atomic<std::uint64_t> output;      // manifest of the result; 0: there is none
  std::array<std::atomic<std::uint64_t>, kMaxPieces> piece;   // Words with a PieceState
  std::array<std::atomic<std::uint64_t>, kMaxPieces> result;  // manifests of delivered pieces

  std::uint32_t piece_count() const noexcept { return std::min(pieces.load(std::memory_order_relaxed), kMaxPieces); }
};

/// What a process is at. Written by itself, read by the parent.
/// kIdle: between two pieces of work, too.
enum class Activity : std::uint32_t { kStarting, kIdle, kSample, kCollate, kPaused };
inline constexpr std::size_t kActivities = 5;

struct SlowSample {
  std::atomic<std::uint64_t> ns;
  std::atomic<std::uint64_t> position;
};

enum ProcessLife : std::uint32_t { kProcessFree, kProcessEnlisted, kProcessAttached, kProcessReaped };

struct alignas(64) ProcessEntry {
  std::atomic<std::uint32_t> life;     // a ProcessLife
  std::atomic<std::uint32_t> retired;  // 1: takes nothing new
  std::atomic<std::uint32_t> wakeups;  // counts what concerns the tasks that it owns
  std::atomic<std::int32_t> pid;
  // Counters of one writer each, without order among them.
  std::atomic<std::uint64_t> heartbeats;
  std::atomic<std::uint64_t> cpu_ns;
  std::atomic<std::uint64_t> samples;
  std::atomic<std::uint64_t> tasks;
  std::atomic<Activity> activity;
  std::atomic<std::int32_t> piece;  // -1: a task that is one whole
  std::atomic<std::uint64_t> ticket;
  std::atomic<std::uint64_t> position;
  // Where its time goes; `sequence` is odd during a change. Together with `activity` and `since_ns`.
  std::atomic<std::uint64_t> sequence;
  std::array<std::atomic<std::uint64_t>, kActivities> ended_ns;  // by Activity, from attached_ns to since_ns
  std::atomic<std::uint64_t> python_cpu_ns;                      // CPU time since the first request for work
  std::atomic<std::uint64_t> cpu_at_ns;  // where python_cpu_ns ends, as cpu_ns counts; ~0 where that does not say
  std::atomic<std::uint64_t> since_ns;   // this and the next four: CLOCK_MONOTONIC
  // The way to the first sample; 0: not there yet.
  std::atomic<std::uint64_t> enlisted_ns;
  std::atomic<std::uint64_t> attached_ns;
  std::atomic<std::uint64_t> ready_ns;
  std::atomic<std::uint64_t> first_sample_ns;
  std::array<SlowSample, kSlowestKept> slowest;
};

static_assert(std::atomic<Activity>::is_always_lock_free);

/// Where everything is. Written once, before the memory is shared.
struct BoardGeometry {
  std::uint64_t magic;
  std::uint64_t file_bytes;
  std::uint64_t region_bytes;
  std::uint64_t processes_offset;
  std::uint64_t regions_offset;
  std::uint64_t tasks_offset;
  std::uint64_t data_offset;  // of region 0
  std::uint32_t max_processes;
  std::uint32_t max_tasks;

  bool operator==(const BoardGeometry&) const = default;
};

struct alignas(kPageBytes) BoardHeader {
  BoardGeometry geometry;
  alignas(64) std::atomic<std::uint32_t> work;    // counts everything that a worker may wait for; a futex
  alignas(64) std::atomic<std::uint32_t> events;  // counts the tasks that came to an end; a futex
  std::atomic<std::uint32_t> stop;                // 1: all processes end
  alignas(64) std::atomic<std::uint64_t> oldest;  // no task with a lower ticket is under way
  std::atomic<std::uint64_t> next;                // no task with this ticket or a higher one is under way
};

/// A part of a result. In a block lies a Manifest, and its parts behind it; the data of a part are in this block or in
/// one of the maker's own.
struct ManifestPart {
  std::uint64_t block;
  std::uint64_t start;  // in the block's data
  std::uint64_t bytes;
};
struct Manifest {
  std::uint32_t kind;  // the user's
  std::uint32_t parts;
};

}  // namespace drapps
