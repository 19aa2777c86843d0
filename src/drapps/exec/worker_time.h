// Where the time of worker threads goes: the part that each of them is in, and how long it was in each.
//
//   LaneTimer timer(lane_place(LaneRole::kDecode));  // on a worker, in whose clock it books
//   Status status = decode(sample);
//   const LaneTime spent = timer.end();
//
// A worker is always in exactly one part, so the parts sum to the time since it began; the one under way counts up to
// the moment of reading. A WorkerClock has one writer, its thread, which uses no locked instruction: a sequence number
// that is odd while it writes says to a reader that it has to look again.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "drapps/base/clock.h"
#include "drapps/base/lane.h"
#include "drapps/exec/cpu_sampler.h"

namespace drapps {

/// What a worker found when it asked for work. Of several reasons for nothing the greatest is told.
enum class WorkFound : std::uint8_t {
  kNothing,  // there is none to begin
  kWindow,   // as many batches are under way as may be
  kMemory,   // what could be worked on finds no memory
  kStorage,  // reads are under way, and nothing is ready
  kWork,     // an item, which was run
};
inline constexpr std::size_t kReasons = static_cast<std::size_t>(WorkFound::kWork);

struct LaneTime {
  std::uint64_t wall_ns = 0;
  std::uint64_t cpu_ns = 0;

  LaneTime& operator+=(const LaneTime& other) noexcept {
    wall_ns += other.wall_ns;
    cpu_ns += other.cpu_ns;
    return *this;
  }
};

/// Where the time of workers went until it was read. Those of several workers add, and none of it ever goes back.
struct WorkerTimes {
  std::uint64_t wall_ns = 0;                        // since each began, until each ended; the sum of the parts below
  std::array<std::uint64_t, kReasons> waited_ns{};  // for want of work, by the reason
  std::uint64_t paused_ns = 0;                      // the CPU budget was used up
  std::uint64_t other_ns = 0;                       // at work outside lanes: scheduling, and getting up and to sleep
  std::array<LaneTime, kLanes.size()> lanes{};      // in the order of kLanes
  std::uint64_t cpu_ns = 0;                         // of the threads, in lanes or not
  std::uint32_t workers = 0;                        // alive

  std::uint64_t waited(WorkFound reason) const noexcept { return waited_ns[static_cast<std::size_t>(reason)]; }
  /// Sums the parts.
  std::uint64_t parts_ns() const noexcept;
  WorkerTimes& operator+=(const WorkerTimes& other) noexcept;
  /// Raises whatever is less than in `before`, which was read earlier.
  void not_before(const WorkerTimes& before) noexcept;
};

/// For what reason workers sleep, and how long they have for each. Workers share a reason: what the last one that asked
/// found holds for those that sleep already. Whoever calls it holds a lock of its own.
class SleepReasons {
 public:
  using Totals = std::array<std::uint64_t, kReasons>;
  /// Workers sleep for this reason from now on.
  void change(WorkFound reason, std::uint64_t now_ns) noexcept;
  WorkFound reason() const noexcept { return reason_; }
  /// ns for which each reason has held.
  Totals at(std::uint64_t now_ns) const noexcept;

 private:
  Totals ended_{};
  std::uint64_t since_ns_ = 0;
  WorkFound reason_ = WorkFound::kNothing;
};

/// The clock of one worker. All but read() is for its thread alone.
class WorkerClock {
 public:
  /// A part that a worker can be in: one of these, or a lane().
  using Part = std::size_t;
  static constexpr Part kAsleep = 0;
  static constexpr Part kPaused = 1;
  static constexpr Part kStorage = 2;  // it waits for a read itself, awake
  static constexpr Part kOther = 3;
  static constexpr Part lane(std::size_t place) noexcept { return 4 + place; }
  static constexpr std::size_t kParts = 4 + kLanes.size();

  /// The calling thread becomes a worker, until the object is gone.
  WorkerClock() noexcept;
  ~WorkerClock() { mine_ = nullptr; }
  WorkerClock(const WorkerClock&) = delete;
  WorkerClock& operator=(const WorkerClock&) = delete;

  /// The clock of the calling thread, or null where it is no worker.
  static WorkerClock* mine() noexcept { return mine_; }

  /// The worker is in this part from now on. Gives the time, of the monotonic clock.
  std::uint64_t enter(Part part) noexcept;
  /// The worker is in lane(place) from now on. Gives the time, of the monotonic clock.
  /// @param cpu_ns  of the thread, until now; CpuSampler::kNotRead: what is under way counts when it has ended.
  std::uint64_t enter_lane(std::size_t place, std::uint64_t cpu_ns) noexcept;
  /// The worker goes from the lane that it is in to kOther.
  /// @param spent_ns  CPU time since the lane was entered.
  std::uint64_t leave_lane(std::uint64_t spent_ns) noexcept;
  /// The worker goes from its lane to kOther, its CPU time by `sampler`, whose spent() gave `spent_ns`. Gives the time
  /// in the lane.
  LaneTime leave_lane(CpuSampler& sampler, std::uint64_t spent_ns) noexcept;
  /// The worker enters kAsleep, and leaves it with wake(); both with the lock held that `reasons` wants.
  void sleep(const SleepReasons& reasons) noexcept;
  void wake(const SleepReasons& reasons) noexcept;

  /// From any thread, with the lock that `reasons` wants held. Nothing where the worker was in the middle of a change
  /// each time.
  /// @param cpu_ns  of the thread, until a moment ago.
  std::optional<WorkerTimes> read(const SleepReasons& reasons, std::uint64_t cpu_ns) const noexcept;

 private:
  using Word = std::atomic<std::uint64_t>;
  static void add(Word& word, std::uint64_t more) noexcept {
    word.store(word.load(std::memory_order_relaxed) + more, std::memory_order_release);
  }
  std::uint64_t begin_change() noexcept;
  void end_change() noexcept;
  void book_lane(std::uint64_t now, std::uint64_t spent_ns) noexcept;
  void change_part(Part part, std::uint64_t now, std::uint64_t cpu_at_ns = CpuSampler::kNotRead) noexcept;

  // A reader that sees a word of a change sees the odd number before it: words are stored with release, and loaded with
  // acquire, which costs nothing more on x86.
  alignas(64) Word sequence_{0};
  Word part_{kOther};
  Word since_ns_{0};
  Word cpu_at_ns_{CpuSampler::kNotRead};  // of the thread, when it entered the lane
  std::array<Word, kParts> ended_ns_{};
  std::array<Word, kReasons> slept_ns_{};    // time in kAsleep, by the reason
  std::array<Word, kReasons> reasons_at_{};  // when the sleep under way began
  std::array<Word, kLanes.size()> cpu_ns_{};

  static constinit thread_local WorkerClock* mine_;
};

/// Measures work of a lane on the calling thread, its CPU time as cpu_sampler.h does, and books it where that is a
/// worker.
class LaneTimer {
 public:
  explicit LaneTimer(std::size_t place) noexcept;
  ~LaneTimer() {
    if (!ended_) end();
  }
  LaneTimer(const LaneTimer&) = delete;
  LaneTimer& operator=(const LaneTimer&) = delete;

  /// Ends the measurement, at most once; the destructor does so where nobody has.
  LaneTime end() noexcept;

 private:
  CpuSampler& sampler_;
  const std::uint64_t begun_cpu_ns_;
  const std::uint64_t begun_ns_;
  bool ended_ = false;
};

}  // namespace drapps
