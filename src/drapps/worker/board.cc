#include "drapps/worker/board.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "drapps/base/clock.h"
#include "drapps/worker/wakeups.h"

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

Board::Board(std::shared_ptr<BoardMemory> memory)
    : memory_(std::move(memory)),
      arena_(memory_, 0),
      known_(memory_->max_processes()),
      published_(memory_->max_tasks()) {}

Result<std::unique_ptr<Board>> Board::make(std::uint32_t max_processes, std::uint32_t max_tasks,
                                           std::uint64_t region_bytes) {
  auto memory = BoardMemory::make(max_processes, max_tasks, region_bytes);
  if (!memory.ok()) return std::move(memory).error();
  return std::unique_ptr<Board>(new Board(std::move(memory).value()));
}

Result<std::optional<std::uint64_t>> Board::publish(Bytes input, const TaskRequest& request) {
  if (request.pieces > kMaxPieces) {
    return invalid("a task has at most " + std::to_string(kMaxPieces) + " pieces, not " +
                   std::to_string(request.pieces) + "; put several samples into one piece");
  }
  if (request.process < -1 || request.process >= static_cast<std::int64_t>(memory()->max_processes())) {
    return invalid("there is no process " + std::to_string(request.process));
  }
  const auto block = arena_.allocate(input.size());
  if (!block.ok()) return block.error();
  const auto copied = memory()->data_at(*block, 0, input.size());
  if (!copied.ok()) return copied.error();
  if (!input.empty()) std::memcpy(copied->data.data(), input.data(), input.size());

  const std::scoped_lock lock(mutex_);
  if (unswept_ > 0) sweep_all();
  release_pieces_of_done();
  TaskEntry* task = nullptr;
  std::uint64_t ticket = next_ticket_;
  // A ticket names its place. One whose place is taken by a slow task is left out.
  for (const std::uint64_t end = ticket + memory()->max_tasks(); ticket < end; ++ticket) {
    if (Word::of(entry(ticket).word.load()).state == kTaskFree && published(ticket).ticket == kNoTicket) {
      task = &entry(ticket);
      break;
    }
  }
  if (task == nullptr) {
    memory()->release_hold(*block, kMakerHold);
    return std::optional<std::uint64_t>();
  }
  next_ticket_ = ticket + 1;
  memory()->header().next.store(next_ticket_);
  task->pinned.store(request.process, std::memory_order_relaxed);
  task->pieces.store(request.pieces, std::memory_order_relaxed);
  task->worker.store(request.worker, std::memory_order_relaxed);
  task->urgent.store(request.urgent ? 1 : 0, std::memory_order_relaxed);
  task->cancelled.store(0, std::memory_order_relaxed);
  task->position.store(request.position, std::memory_order_relaxed);
  task->input.store(*block, std::memory_order_relaxed);
  task->input_bytes.store(input.size(), std::memory_order_relaxed);
  task->output.store(0, std::memory_order_relaxed);
  task->claimed_ns.store(0, std::memory_order_relaxed);
  task->worked_ns.store(0, std::memory_order_relaxed);
  for (std::uint32_t i = 0; i < request.pieces; ++i) {
    task->result[i].store(0, std::memory_order_relaxed);
    task->piece[i].store(Word{.ticket = ticket, .state = kPieceFree}.bits(), std::memory_order_relaxed);
  }
  python_lane_.queue_length.record(open_tasks());
  published(ticket) = {ticket, request, monotonic_ns()};
  task->word.store(Word{.ticket = ticket, .state = kTaskOpen}.bits());
  if (request.process >= 0) {
    wake_workers(*memory(), INT_MAX, mask_of(static_cast<std::uint32_t>(request.process)));
  } else {
    wake_workers(*memory(), static_cast<int>(std::max(request.pieces, 1u)), kAnyone);
  }
  return std::optional<std::uint64_t>(ticket);
}

std::uint32_t Board::events() const noexcept { return memory()->header().events.load(); }

bool Board::done(std::uint64_t ticket) const noexcept {
  const Word word = Word::of(entry(ticket).word.load());
  if (word.ticket == ticket && word.state == kTaskDone) return true;
  if (word.ticket == ticket && has_owner_or_none(word)) return false;
  const std::scoped_lock lock(mutex_);  // reap() reopens what the dead had under it
  return overwritten(ticket);
}

bool Board::has_owner_or_none(const Word& word) const noexcept {
  if (word.state != kTaskOwned) return word.state == kTaskOpen;
  return word.process < memory()->max_processes() && memory()->process(word.process).life.load() == kProcessAttached;
}

/// Whether a task that is wanted would be waited for in vain, since its word says what no process and no call here
/// makes it say. Requires the mutex.
bool Board::overwritten(std::uint64_t ticket) const noexcept {
  if (published_[ticket % published_.size()].ticket != ticket) return false;
  const Word word = Word::of(entry(ticket).word.load());
  return word.ticket != ticket || !(word.state == kTaskDone || has_owner_or_none(word));
}

/// Writes what is the parent's alone to write: where another wrote over it, no process would find a task.
void Board::write_again() const {
  const std::scoped_lock lock(mutex_);
  bool differs = false;
  const auto put = [&](auto& word, auto value) {
    if (word.load(std::memory_order_relaxed) != value) word.store(value), differs = true;
  };
  put(memory()->header().next, next_ticket_);
  put(memory()->header().oldest, oldest_);
  for (const auto& [ticket, request, at_ns, done] : published_) {
    if (ticket == kNoTicket) continue;
    TaskEntry& task = entry(ticket);
    put(task.pinned, request.process);
    put(task.pieces, request.pieces);
    put(task.worker, request.worker);
    put(task.position, request.position);
    put(task.urgent, std::uint32_t{request.urgent});
    put(task.cancelled, std::uint32_t{0});
  }
  if (differs) wake_workers(*memory());
}

bool Board::wait(std::uint64_t ticket, std::chrono::nanoseconds timeout) const {
  const std::uint64_t deadline = deadline_after(timeout);
  for (;;) {
    const std::uint32_t seen = events();
    if (done(ticket)) return true;
    const std::uint64_t now = monotonic_ns();
    if (now >= deadline) return false;
    const FutexWait waited = futex_wait(memory()->header().events, seen, std::min(deadline, now + kEventLookNs));
    if (waited == FutexWait::kInterrupted) return done(ticket);
    if (waited == FutexWait::kTimeout) write_again();
  }
}

std::uint32_t Board::wait_event(std::uint32_t seen, std::chrono::nanoseconds timeout) const {
  const std::uint64_t deadline = deadline_after(timeout);
  while (events() == seen && monotonic_ns() < deadline) {
    const FutexWait waited = futex_wait(memory()->header().events, seen, deadline);
    if (waited == FutexWait::kInterrupted) break;
    if (waited == FutexWait::kTimeout) write_again();
  }
  return events();
}

Result<TakenResult> Board::take(std::uint64_t ticket) {
  const std::scoped_lock lock(mutex_);
  TaskEntry& task = entry(ticket);
  const Word word = Word::of(task.word.load());
  if (overwritten(ticket)) {  // what it held stays so: nothing says any more what that was
    published(ticket) = {};
    task.word.store(Word{.ticket = ticket, .state = kTaskFree}.bits());
    pass_over_ended();
    return Error{.code = ErrorCode::kCorrupt,
                 .stage = Stage::kDeliver,
                 .message = "the entry of task " + std::to_string(ticket) +
                            " was overwritten: a worker process has written where it must not; look for native code "
                            "of the dataset that writes behind its arrays"};
  }
  if (word.ticket != ticket || word.state != kTaskDone || task.cancelled.load() != 0) {
    return Error{.code = ErrorCode::kNotFound,
                 .stage = Stage::kDeliver,
                 .message = "task " + std::to_string(ticket) + " is not done; wait for it, and take it once"};
  }
  Result<TakenResult> taken = TakenResult{};
  if (const std::uint64_t output = task.output.load(); output != 0) taken = result_at(output);
  count_in_lane(task, published(ticket));
  published(ticket) = {};
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
  for (BlockBytes& part : packet->parts) {
    part.block.header().holds.fetch_add(1);
    taken.parts.push_back({BlockHandle(memory(), std::move(part.block), 1), part.data});
  }
  return taken;
}

void Board::cancel(std::uint64_t ticket) {
  const std::scoped_lock lock(mutex_);
  TaskEntry& task = entry(ticket);
  const Word word = Word::of(task.word.load());
  const bool under_way = word.state == kTaskOpen || word.state == kTaskOwned || word.state == kTaskDone;
  if (published(ticket).ticket == ticket) published(ticket) = {};
  if (word.ticket != ticket || !under_way || task.cancelled.exchange(1) != 0) return;
  ++unswept_;
  if (!sweep(task)) wake_owner(*memory(), task);
}

void Board::repin(std::uint64_t ticket, std::int32_t process) {
  if (process < -1 || process >= static_cast<std::int64_t>(memory()->max_processes())) return;
  const std::scoped_lock lock(mutex_);
  TaskEntry& task = entry(ticket);
  const Word word = Word::of(task.word.load());
  const bool helped = word.state == kTaskOwned && process == -1;
  if (word.ticket != ticket || !(word.state == kTaskOpen || helped)) return;
  // A process that claims it at this moment for the old pin looks again, and puts it back.
  published(ticket).request.process = process;
  task.pinned.store(process);
  wake_workers(*memory());
}

/// Whoever had a task and has ended it does not look at what others made of it any more; its result may wait for long.
/// Requires the mutex.
void Board::release_pieces_of_done() {
  const std::uint64_t most = memory()->max_tasks();
  for (std::uint64_t ticket = next_ticket_ - std::min(next_ticket_ - oldest_, most); ticket < next_ticket_; ++ticket) {
    Published& known = published(ticket);
    if (known.ticket != ticket || known.done || known.request.pieces == 0) continue;
    TaskEntry& task = entry(ticket);
    if (const Word word = Word::of(task.word.load()); word.ticket != ticket || word.state != kTaskDone) continue;
    known.done = true;
    for (std::uint32_t i = 0; i < known.request.pieces; ++i) {
      if (Word::of(task.piece[i].load()).state != kPieceDelivered) continue;
      // The piece is closed first: what is released must not be found again.
      task.piece[i].store(Word{.ticket = ticket, .state = kPieceClosed}.bits());
      release_packet(*memory(), task.result[i].load());
    }
  }
}

/// Moves a task that is cancelled or taken towards being free. True when it is, and all that it held is released.
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
    if (Word::of(task.piece[i].load()).state == kPieceDelivered) release_packet(*memory(), task.result[i].load());
  }
  if (const std::uint64_t output = task.output.load(); output != 0) release_packet(*memory(), output);
  memory()->release_hold(task.input.load(), kMakerHold);
  task.word.store(Word{.ticket = word.ticket, .state = kTaskFree}.bits());
  --unswept_;
  pass_over_ended();
  return true;
}

void Board::pass_over_ended() {
  if (under_way(oldest_)) return;
  while (oldest_ < next_ticket_ && !under_way(oldest_)) ++oldest_;
  memory()->header().oldest.store(oldest_);
}

/// Requires the mutex.
std::uint64_t Board::open_tasks() const noexcept {
  std::uint64_t open = 0;
  const std::uint64_t most = memory()->max_tasks();
  for (std::uint64_t i = next_ticket_ - std::min(next_ticket_ - oldest_, most); i < next_ticket_; ++i) {
    open += Word::of(entry(i).word.load(std::memory_order_relaxed)).state == kTaskOpen ? 1 : 0;
  }
  return open;
}

/// What others wrote counts where it can be true.
void Board::count_in_lane(const TaskEntry& task, const Published& published) noexcept {
  const std::uint64_t age = monotonic_ns() - published.at_ns;
  const std::uint64_t claimed = task.claimed_ns.load(std::memory_order_relaxed);
  if (claimed >= published.at_ns && claimed - published.at_ns <= age) {
    python_lane_.wait.record(claimed - published.at_ns);
  }
  const std::uint64_t worked = task.worked_ns.load(std::memory_order_relaxed);
  if (worked > 0 && worked / memory()->max_processes() <= age) {
    const std::uint64_t pieces = std::max(published.request.pieces, 1u);
    python_lane_.service_wall.record(worked / pieces, pieces);
  }
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
