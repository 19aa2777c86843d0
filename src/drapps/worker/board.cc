#include "drapps/worker/board.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "drapps/base/clock.h"
#include "drapps/worker/bells.h"

namespace drapps {
namespace {

/// How long a wait goes on before the waiter looks for itself: a process may be killed between the end of a task and
/// its announcement.
constexpr std::uint64_t kEventLookNs = 50'000'000;

std::uint64_t deadline_after(std::chrono::nanoseconds timeout) noexcept {
  const std::uint64_t now = monotonic_ns();
  const auto ns = static_cast<std::uint64_t>(std::max<std::int64_t>(timeout.count(), 0));
  return std::min(now + ns, std::uint64_t{1} << 62);
}

}  // namespace

Board::Board(std::shared_ptr<Memory> memory) : memory_(std::move(memory)), arena_(memory_, 0) {}

Result<std::unique_ptr<Board>> Board::make(std::uint32_t max_processes, std::uint32_t max_tasks,
                                           std::uint64_t region_bytes) {
  auto memory = Memory::make(max_processes, max_tasks, region_bytes);
  if (!memory.ok()) return std::move(memory).error();
  return std::unique_ptr<Board>(new Board(std::move(memory).value()));
}

Result<std::optional<std::uint64_t>> Board::publish(Bytes input, const TaskOrder& order) {
  if (order.pieces > kMaxPieces) {
    return invalid("a task has at most " + std::to_string(kMaxPieces) + " pieces, not " + std::to_string(order.pieces) +
                   "; put several samples into one piece");
  }
  if (order.process < -1 || order.process >= static_cast<std::int64_t>(memory()->max_processes())) {
    return invalid("there is no process " + std::to_string(order.process));
  }
  const auto block = arena_.allocate(input.size());
  if (!block.ok()) return block.error();
  if (!input.empty()) std::memcpy(memory()->data_of(*block), input.data(), input.size());

  const std::scoped_lock lock(mutex_);
  if (unswept_ > 0) sweep_all();
  TaskEntry* task = nullptr;
  std::uint64_t ticket = next_ticket_;
  // A ticket names its place. One whose place is taken by a slow task is left out.
  for (const std::uint64_t end = ticket + memory()->max_tasks(); ticket < end; ++ticket) {
    if (Word::of(entry(ticket).word.load()).state == kTaskFree) {
      task = &entry(ticket);
      break;
    }
  }
  if (task == nullptr) {
    memory()->drop_hold(*block, kMakerHold);
    return std::optional<std::uint64_t>();
  }
  next_ticket_ = ticket + 1;
  memory()->header().next.store(next_ticket_);
  task->pinned.store(order.process, std::memory_order_relaxed);
  task->pieces.store(order.pieces, std::memory_order_relaxed);
  task->worker.store(order.worker, std::memory_order_relaxed);
  task->urgent.store(order.urgent ? 1 : 0, std::memory_order_relaxed);
  task->cancelled.store(0, std::memory_order_relaxed);
  task->position.store(order.position, std::memory_order_relaxed);
  task->input.store(*block, std::memory_order_relaxed);
  task->input_bytes.store(input.size(), std::memory_order_relaxed);
  task->output.store(0, std::memory_order_relaxed);
  for (std::uint32_t i = 0; i < order.pieces; ++i) {
    task->result[i].store(0, std::memory_order_relaxed);
    task->piece[i].store(Word{.ticket = ticket, .state = kPieceFree}.bits(), std::memory_order_relaxed);
  }
  task->word.store(Word{.ticket = ticket, .state = kTaskOpen}.bits());
  if (order.process >= 0) {
    wake_workers(*memory(), INT_MAX, mask_of(static_cast<std::uint32_t>(order.process)));
  } else {
    wake_workers(*memory(), static_cast<int>(std::max(order.pieces, 1u)), kAnyone);
  }
  return std::optional<std::uint64_t>(ticket);
}

std::uint32_t Board::events() const noexcept { return memory()->header().events.load(); }

bool Board::done(std::uint64_t ticket) const noexcept {
  const Word word = Word::of(entry(ticket).word.load());
  return word.ticket == ticket && word.state == kTaskDone;
}

bool Board::wait(std::uint64_t ticket, std::chrono::nanoseconds timeout) const {
  const std::uint64_t deadline = deadline_after(timeout);
  for (;;) {
    const std::uint32_t seen = events();
    if (done(ticket)) return true;
    const std::uint64_t now = monotonic_ns();
    if (now >= deadline) return false;
    if (futex_wait(memory()->header().events, seen, std::min(deadline, now + kEventLookNs)) ==
        FutexWait::kInterrupted) {
      return done(ticket);
    }
  }
}

std::uint32_t Board::wait_event(std::uint32_t seen, std::chrono::nanoseconds timeout) const {
  const std::uint64_t deadline = deadline_after(timeout);
  while (events() == seen && monotonic_ns() < deadline) {
    if (futex_wait(memory()->header().events, seen, deadline) == FutexWait::kInterrupted) break;
  }
  return events();
}

Result<TakenResult> Board::take(std::uint64_t ticket) {
  const std::scoped_lock lock(mutex_);
  TaskEntry& task = entry(ticket);
  const Word word = Word::of(task.word.load());
  if (word.ticket != ticket || word.state != kTaskDone || task.cancelled.load() != 0) {
    return Error{.code = ErrorCode::kNotFound,
                 .stage = Stage::kDeliver,
                 .message = "task " + std::to_string(ticket) + " is not done; wait for it, and take it once"};
  }
  Result<TakenResult> taken = TakenResult{};
  if (const std::uint64_t output = task.output.load(); output != 0) taken = result_at(output);
  task.word.store(Word{.ticket = ticket, .state = kTaskClosing}.bits());
  ++unswept_;
  sweep(task);
  return taken;
}

Result<TakenResult> Board::result_at(std::uint64_t manifest) {
  auto packet = read_packet(*memory(), manifest);
  if (!packet.ok()) return std::move(packet).error();
  TakenResult taken{.kind = packet->kind};
  taken.parts.reserve(packet->parts.size());
  for (const Packet::Part& part : packet->parts) {
    memory()->block(part.block).holds.fetch_add(1);
    taken.parts.push_back({BlockHandle(memory(), part.block, 1), part.data});
  }
  return taken;
}

void Board::cancel(std::uint64_t ticket) {
  const std::scoped_lock lock(mutex_);
  TaskEntry& task = entry(ticket);
  const Word word = Word::of(task.word.load());
  const bool under_way = word.state == kTaskOpen || word.state == kTaskOwned || word.state == kTaskDone;
  if (word.ticket != ticket || !under_way || task.cancelled.exchange(1) != 0) return;
  ++unswept_;
  if (!sweep(task)) ring_owner(*memory(), task);
}

void Board::repin(std::uint64_t ticket, std::int32_t process) {
  if (process < -1 || process >= static_cast<std::int64_t>(memory()->max_processes())) return;
  const std::scoped_lock lock(mutex_);
  TaskEntry& task = entry(ticket);
  const Word word = Word::of(task.word.load());
  const bool helped = word.state == kTaskOwned && process == -1;
  if (word.ticket != ticket || !(word.state == kTaskOpen || helped)) return;
  // A process that claims it at this moment for the old pin looks again, and puts it back.
  task.pinned.store(process);
  wake_workers(*memory());
}

/// Moves a task that is cancelled or taken towards being free. True when it is, and all that it held is let go.
bool Board::sweep(TaskEntry& task) {
  Word word = Word::of(task.word.load());
  while (word.state == kTaskOpen || word.state == kTaskDone) {  // cancelled; an owner may claim it meanwhile
    std::uint64_t bits = word.bits();
    if (task.word.compare_exchange_strong(bits, Word{.ticket = word.ticket, .state = kTaskClosing}.bits())) {
      word.state = kTaskClosing;
    } else {
      word = Word::of(bits);
    }
  }
  if (word.state != kTaskClosing) return false;
  const std::uint32_t pieces = task.piece_count();
  const std::uint64_t closed = Word{.ticket = word.ticket, .state = kPieceClosed}.bits();
  bool running = false;
  for (std::uint32_t i = 0; i < pieces; ++i) {
    std::uint64_t bits = task.piece[i].load();
    while (Word::of(bits).state == kPieceFree || Word::of(bits).state == kPieceFreeForOwner) {
      if (task.piece[i].compare_exchange_strong(bits, closed)) bits = closed;
    }
    running |= Word::of(bits).state == kPieceRunning;
  }
  if (running) return false;
  for (std::uint32_t i = 0; i < pieces; ++i) {
    if (Word::of(task.piece[i].load()).state == kPieceDelivered) drop_packet(*memory(), task.result[i].load());
  }
  if (const std::uint64_t output = task.output.load(); output != 0) drop_packet(*memory(), output);
  memory()->drop_hold(task.input.load(), kMakerHold);
  task.word.store(Word{.ticket = word.ticket, .state = kTaskFree}.bits());
  --unswept_;
  std::uint64_t oldest = memory()->header().oldest.load();
  if (word.ticket != oldest) return true;
  while (oldest < next_ticket_ && !under_way(oldest)) ++oldest;
  memory()->header().oldest.store(oldest);
  return true;
}

bool Board::under_way(std::uint64_t ticket) const noexcept {
  const Word word = Word::of(entry(ticket).word.load());
  return word.ticket == ticket && word.state != kTaskFree;
}

void Board::sweep_all() {
  for (std::uint32_t i = 0; i < memory()->max_tasks() && unswept_ > 0; ++i) {
    TaskEntry& task = memory()->task_at(i);
    const Word word = Word::of(task.word.load());
    if (word.state != kTaskFree && (word.state == kTaskClosing || task.cancelled.load() != 0)) sweep(task);
  }
}

}  // namespace drapps
