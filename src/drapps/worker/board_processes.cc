// The part of Board that is about processes: their numbers, their deaths, their counters.
#include <algorithm>
#include <tuple>

#include "drapps/base/clock.h"
#include "drapps/worker/board.h"
#include "drapps/worker/wakeups.h"

namespace drapps {
namespace {

double seconds(std::uint64_t ns) noexcept { return static_cast<double>(ns) * 1e-9; }

/// -1 unless both ends were reached.
double seconds_between(const std::atomic<std::uint64_t>& from, const std::atomic<std::uint64_t>& to) noexcept {
  const std::uint64_t began = from.load(std::memory_order_relaxed);
  const std::uint64_t ended = to.load(std::memory_order_relaxed);
  return began == 0 || ended == 0 ? -1 : seconds(ended - began);
}

void reset(ProcessEntry& process) noexcept {
  for (auto* word :
       {&process.heartbeats, &process.cpu_ns, &process.samples, &process.tasks, &process.position, &process.sequence,
        &process.python_cpu_ns, &process.attached_ns, &process.ready_ns, &process.first_sample_ns}) {
    word->store(0, std::memory_order_relaxed);
  }
  for (auto& word : process.ended_ns) word.store(0, std::memory_order_relaxed);
  process.cpu_at_ns = kNoTicket;
  process.ticket = kNoTicket;
  process.retired = 0;
  process.pid = 0;
  process.activity = Activity::kStarting;
  process.piece = -1;
  process.since_ns = monotonic_ns();
  process.enlisted_ns = process.since_ns.load();
  for (SlowSample& slow : process.slowest) slow.ns = 0;
}

}  // namespace

Result<std::uint32_t> Board::enlist() {
  const std::scoped_lock lock(mutex_);
  sweep_all();
  for (std::uint32_t number = 0; number < memory()->max_processes(); ++number) {
    ProcessEntry& process = memory()->process(number);
    const bool free = process.life == kProcessFree || (process.life == kProcessReaped && try_empty_region(number));
    if (!free) continue;
    reset(process);
    {
      const std::scoped_lock known(known_mutex_);
      known_[number] = {};
    }
    memory()->region(number + 1).orphaned = 0;
    process.life = kProcessEnlisted;
    return number;
  }
  return Error{.code = ErrorCode::kResourceExhausted,
               .message = "all " + std::to_string(memory()->max_processes()) +
                          " processes of a board are taken, by living ones or by results of dead ones that are still "
                          "held; drop earlier batches, or make the board for more processes"};
}

void Board::retire(std::uint32_t number) {
  memory()->process(number).retired = 1;
  wake(*memory(), number);
}

void Board::stop() {
  memory()->header().stop = 1;
  for (std::uint32_t number = 0; number < memory()->max_processes(); ++number)
    memory()->process(number).wakeups.fetch_add(1);
  wake_workers(*memory());
}

std::vector<Lost> Board::reap(std::uint32_t number) {
  std::vector<Lost> lost;
  {
    const std::scoped_lock lock(mutex_);
    ProcessEntry& process = memory()->process(number);
    if (process.life == kProcessFree || process.life == kProcessReaped) return lost;
    times(number);
    {
      const std::scoped_lock known(known_mutex_);
      known_[number].over = true;
    }
    process.life = kProcessReaped;
    memory()->region(number + 1).orphaned = 1;
    reopen_tasks_of(number, lost);
    clear_region_of(number);
    sweep_all();
    try_empty_region(number);
  }
  // It may have died between the end of a task and its announcement, or after taking a wake-up that was for anyone.
  announce(*memory());
  wake_workers(*memory());
  std::ranges::sort(lost, {}, [](const Lost& one) { return std::tuple(one.ticket, one.piece); });
  return lost;
}

void Board::reopen_tasks_of(std::uint32_t number, std::vector<Lost>& lost) {
  for (std::uint32_t index = 0; index < memory()->max_tasks(); ++index) {
    TaskEntry& task = memory()->task_at(index);
    const Word word = Word::of(task.word.load());
    if (word.state == kTaskFree) continue;
    const bool owned = word.state == kTaskOwned && word.process == number;
    const bool wanted = (word.state == kTaskOpen || word.state == kTaskOwned) && task.cancelled.load() == 0;
    bool freed = false;
    const std::uint32_t pieces = task.piece_count();
    for (std::uint32_t i = 0; i < pieces; ++i) {
      const Word piece = Word::of(task.piece[i].load());
      const bool running = piece.state == kPieceRunning;
      if (piece.process != number || !(running || (piece.state == kPieceLocal && owned))) continue;
      task.piece[i].store(Word{.ticket = word.ticket, .state = kPieceFree}.bits());
      freed = true;
      if (running && wanted) lost.push_back({word.ticket, static_cast<std::int32_t>(i)});
    }
    if (owned) {
      task.output.store(0);  // it may have died just before saying that this is the result
      task.word.store(Word{.ticket = word.ticket, .state = kTaskOpen}.bits());
      if (wanted) lost.push_back({word.ticket, -1});
    } else if (freed) {
      wake_owner(*memory(), task);
    }
  }
}

void Board::clear_region_of(std::uint32_t number) {
  std::vector<std::uint64_t> referred;
  for (std::uint32_t index = 0; index < memory()->max_tasks(); ++index) {
    TaskEntry& task = memory()->task_at(index);
    const Word word = Word::of(task.word.load());
    if (word.state == kTaskFree) continue;
    const std::uint64_t output = task.output.load();
    if (output != 0 && (word.state == kTaskDone || word.state == kTaskClosing)) {
      append_blocks(*memory(), output, referred);
    }
    const std::uint32_t pieces = task.piece_count();
    for (std::uint32_t i = 0; i < pieces; ++i) {
      if (Word::of(task.piece[i].load()).state == kPieceDelivered) {
        append_blocks(*memory(), task.result[i].load(), referred);
      }
    }
  }
  std::ranges::sort(referred);
  const std::uint32_t region = number + 1;
  memory()->for_each_block(region, [&](const MappedBlock& block) {
    memory()->release_hold(block, kMakerHold);
    if (!std::ranges::binary_search(referred, block.offset)) memory()->release_hold(block, kSentHold);
    if (block.header().holds.load() == 0) BoardMemory::punch_data(block);
  });
  memory()->punch_released(region);
  memory()->punch(memory()->blocks_end(region), memory()->region_end(region));
  memory()->region(region).in_use = 0;
  memory()->region(region).spare = 0;
}

/// Makes the region of a reaped process as new, unless somebody holds a block of it, or it cannot be told.
bool Board::try_empty_region(std::uint32_t number) const {
  const std::uint32_t index = number + 1;
  bool held = false;
  const bool seen =
      memory()->for_each_block(index, [&](const MappedBlock& block) { held |= block.header().holds.load() != 0; });
  // Whoever dropped the last hold of a block is counted here until it has done with the block.
  if (held || !seen || memory()->releasing(index) != 0) return false;
  RegionEntry& region = memory()->region(index);
  region.end = memory()->region_begin(index);
  region.released = 0;
  memory()->forget(memory()->region_begin(index), memory()->region_end(index));
  memory()->punch(memory()->region_begin(index), memory()->region_end(index));
  return true;
}

/// What was told before stands, whatever others have written since.
ProcessTimes Board::times(std::uint32_t number) const {
  const std::scoped_lock lock(known_mutex_);
  KnownProcess& known = known_[number];
  if (known.over) return known.times;
  if (auto times = read_times(memory()->process(number))) {
    times->not_before(known.times);
    known.times = *times;
  }
  return known.times;
}

ProcessStatus Board::status(std::uint32_t number) const {
  const ProcessTimes times = this->times(number);
  const ProcessEntry& process = memory()->process(number);
  const std::uint64_t since = process.since_ns.load(std::memory_order_relaxed);
  const std::uint64_t now = monotonic_ns();
  return {.pid = process.pid.load(std::memory_order_relaxed),
          .heartbeats = process.heartbeats.load(std::memory_order_relaxed),
          .cpu_seconds = seconds(process.cpu_ns.load(std::memory_order_relaxed)),
          .times = times,
          .busy_seconds = seconds(times.python_ns()),
          .paused_seconds = seconds(times[Activity::kPaused]),
          .samples = process.samples.load(std::memory_order_relaxed),
          .tasks = process.tasks.load(std::memory_order_relaxed),
          .activity = std::min(process.activity.load(std::memory_order_relaxed), Activity::kPaused),
          .ticket = static_cast<std::int64_t>(process.ticket.load(std::memory_order_relaxed)),
          .piece = process.piece.load(std::memory_order_relaxed),
          .position = process.position.load(std::memory_order_relaxed),
          .since_seconds = now > since ? seconds(now - since) : 0,
          .launch_seconds = seconds_between(process.enlisted_ns, process.attached_ns),
          .setup_seconds = seconds_between(process.attached_ns, process.ready_ns),
          .first_sample_seconds = seconds_between(process.ready_ns, process.first_sample_ns)};
}

std::vector<Slow> Board::slowest() const {
  std::vector<Slow> samples;
  for (std::uint32_t number = 0; number < memory()->max_processes(); ++number) {
    const ProcessEntry& process = memory()->process(number);
    if (process.life.load() != kProcessAttached) continue;
    for (const SlowSample& slow : process.slowest) {
      const std::uint64_t ns = slow.ns.load(std::memory_order_acquire);
      const std::uint64_t position = slow.position.load(std::memory_order_acquire);
      // Written in between: it is in the next report.
      if (ns != 0 && slow.ns.load(std::memory_order_relaxed) == ns) samples.push_back({seconds(ns), position});
    }
  }
  std::ranges::sort(samples, std::greater(), &Slow::seconds);
  return samples;
}

std::uint64_t Board::bytes_in_use() {
  const std::scoped_lock lock(mutex_);
  sweep_all();
  std::uint64_t bytes = 0;
  for (std::uint32_t region = 0; region <= memory()->max_processes(); ++region) {
    memory()->for_each_block(region, [&](const MappedBlock& block) {
      if (block.header().holds.load() != 0) bytes += block.header().size.load();
    });
  }
  return bytes;
}

}  // namespace drapps
