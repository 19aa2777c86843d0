#include "drapps/worker/board_client.h"

#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <utility>

#include "drapps/base/clock.h"
#include "drapps/base/process_local.h"
#include "drapps/worker/wakeups.h"

namespace drapps {
namespace {

/// How long a worker sleeps before it looks for itself: the one that was woken for new work may be a process that
/// somebody has stopped.
constexpr std::uint64_t kWorkLookNs = 250'000'000;

Error not_begun(std::uint64_t ticket) {
  return Error{.stage = Stage::kDeliver,
               .message = "task " + std::to_string(ticket) +
                          " is not at this process (any more); end what next() and begin() gave, once each"};
}

}  // namespace

BoardClient::BoardClient(const std::shared_ptr<BoardMemory>& memory, std::uint32_t number)
    : memory_(memory),
      number_(number),
      arena_(memory, number + 1),
      process_(memory->process(number)),
      claimer_(*memory, number),
      // A process works in its first thread; any other is one of several that work in this process.
      cpu_clock_(gettid() == getpid() ? &process_cpu_ns : &thread_cpu_ns),
      progress_(process_, cpu_clock_) {}

BoardClient::~BoardClient() {
  // The thread of the heartbeat does not exist in a child.
  if (heartbeat_ && !memory()->mine()) abandon(std::move(*heartbeat_));
}

Result<std::unique_ptr<BoardClient>> BoardClient::attach(int fd, std::uint32_t number, int budget) {
  auto memory = BoardMemory::attach(fd);
  if (!memory.ok()) return std::move(memory).error();
  auto client = attach(*memory, number);
  if (!client.ok() || budget < 0) return client;
  auto attached = CpuBudget::attach(budget);
  if (!attached.ok()) return std::move(attached).error();
  (*client)->budget_.emplace(*std::move(attached));
  return client;
}

/// Books what was used since the last call, and sleeps until it is paid for; false where a signal handler ran.
bool BoardClient::pay() {
  if (!budget_ || !budget_->limited()) {
    booked_ns_.reset();
    return true;
  }
  const std::uint64_t used = cpu_clock_();
  const std::uint64_t before = std::exchange(booked_ns_, used).value_or(used);
  std::uint64_t now = monotonic_ns();
  auto pause = budget_->charge(used - before, now);
  bool interrupted = false;
  const Activity activity = progress_.activity();
  while (pause.count() > 0 && !interrupted && memory()->header().stop.load() == 0) {
    if (progress_.activity() != Activity::kPaused) progress_.enter(Activity::kPaused);
    const auto slice = std::min<std::chrono::nanoseconds>(pause, CpuBudget::kSlice).count();
    const timespec time{.tv_sec = 0, .tv_nsec = slice};
    interrupted = clock_nanosleep(CLOCK_MONOTONIC, 0, &time, nullptr) == EINTR;
    now = monotonic_ns();
    pause = budget_->charge(0, now);
  }
  if (progress_.activity() == Activity::kPaused) progress_.enter(activity);
  return !interrupted;
}

Result<std::unique_ptr<BoardClient>> BoardClient::attach(const std::shared_ptr<BoardMemory>& memory,
                                                         std::uint32_t number) {
  std::uint32_t life = kProcessEnlisted;
  if (number >= memory->max_processes() ||
      !memory->process(number).life.compare_exchange_strong(life, kProcessAttached)) {
    return Error{.message = "no process is awaited under number " + std::to_string(number) +
                            "; enlist one, and attach to it once"};
  }
  auto client = std::unique_ptr<BoardClient>(new BoardClient(memory, number));
  client->process_.pid = getpid();
  client->heard_ = client->process_.wakeups.load();
  client->progress_.attach();
  return client;
}

Status BoardClient::start_heartbeat(const Parent& parent, bool kill_with_parent) {
  auto heartbeat = Heartbeat::start(memory(), number_, parent, kill_with_parent);
  if (!heartbeat.ok()) return std::move(heartbeat).error();
  heartbeat_.emplace(std::move(heartbeat).value());
  return ok_status();
}

Result<Work> BoardClient::next(std::chrono::nanoseconds timeout, bool pending) {
  enter(Activity::kIdle);
  arena_.tidy();
  if (!pay()) return Work{};
  const auto wait_ns = static_cast<std::uint64_t>(std::max<std::int64_t>(timeout.count(), 0));
  const std::uint64_t deadline = std::min(monotonic_ns() + wait_ns, std::uint64_t{1} << 62);
  BoardHeader& header = memory()->header();
  for (;;) {
    const std::uint32_t seen = header.work.load();
    const std::uint32_t wakeups = process_.wakeups.load();
    if (std::exchange(heard_, wakeups) != wakeups && pending) return Work{};
    const bool stop = header.stop.load() != 0;
    const bool retired = process_.retired.load() != 0;
    if (retired && !std::exchange(wake_passed_on_, true)) futex_wake(header.work, 1, kAnyone);
    if ((stop || retired) && !pending) return Work{.kind = Work::WorkKind::kStop};
    if (!stop && !retired) {
      if (const auto claim = claimer_.claim()) return work_of(*claim);
    }
    const std::uint64_t now = monotonic_ns();
    if (now >= deadline) return Work{};
    const std::uint32_t mask = mask_of(number_) | (stop || retired ? 0 : kAnyone);
    const FutexWait waited = futex_wait(header.work, seen, std::min(deadline, now + kWorkLookNs), mask);
    if (waited == FutexWait::kInterrupted) return Work{};
    if (waited != FutexWait::kTimeout) continue;
    disown_strange();
    arena_.tidy();  // others need the memory that it has no use for
  }
}

/// Opens what is said to be at this process and is not: another has written over the word, and everybody would wait.
void BoardClient::disown_strange() {
  for (std::uint32_t i = 0; i < memory()->max_tasks(); ++i) {
    TaskEntry& task = memory()->task_at(i);
    const Word word = Word::of(task.word.load());
    if (word.state == kTaskFree) continue;
    for (std::uint32_t piece = 0; piece < task.piece_count(); ++piece) {
      if (!runs(task, word.ticket, piece)) continue;  // within next() it runs none
      task.piece[piece].store(Word{.ticket = word.ticket, .state = kPieceFree}.bits());
      wake_owner(*memory(), task);
    }
    if (!owns(task, word.ticket) || owned_.contains(word.ticket)) continue;
    task.word.store(Word{.ticket = word.ticket, .state = kTaskOpen}.bits());
    wake_workers(*memory());
  }
}

/// Books the work on a task that cannot go away yet.
void BoardClient::book_work(TaskEntry& task) noexcept {
  task.worked_ns.fetch_add(progress_.take_spent(), std::memory_order_relaxed);
}

Result<Work> BoardClient::work_of(const Claim& claim) {
  const TaskEntry& task = *claim.task;
  if (claim.piece < 0) owned_.insert(claim.ticket);
  auto input = memory()->data_at(task.input.load(std::memory_order_relaxed), 0,
                                 task.input_bytes.load(std::memory_order_relaxed));
  if (!input.ok()) return std::move(input).error();
  Work work{.kind = claim.piece < 0 ? Work::WorkKind::kTask : Work::WorkKind::kPiece,
            .ticket = claim.ticket,
            .piece = claim.piece,
            .pieces = task.piece_count(),
            .worker = task.worker.load(std::memory_order_relaxed),
            .position = task.position.load(std::memory_order_relaxed),
            .input = input->data,
            .block = std::move(input->block)};
  if (work.pieces == 0 || work.piece >= 0) progress_.begin_sample(work.ticket, work.piece, work.position);
  return work;
}

bool BoardClient::owns(const TaskEntry& task, std::uint64_t ticket) const noexcept {
  return task.word.load() == Word{.ticket = ticket, .process = number_, .state = kTaskOwned}.bits();
}

bool BoardClient::runs(const TaskEntry& task, std::uint64_t ticket, std::uint32_t piece) const noexcept {
  return piece < kMaxPieces &&
         task.piece[piece].load() == Word{.ticket = ticket, .process = number_, .state = kPieceRunning}.bits();
}

bool BoardClient::begin(std::uint64_t ticket, std::uint32_t piece) {
  static_cast<void>(pay());
  TaskEntry& task = memory()->task(ticket);
  if (!owns(task, ticket) || piece >= task.piece_count()) return false;
  std::uint64_t bits = task.piece[piece].load(std::memory_order_relaxed);
  const std::uint8_t state = Word::of(bits).state;
  const std::uint64_t running = Word{.ticket = ticket, .process = number_, .state = kPieceRunning}.bits();
  if (state != kPieceFree && state != kPieceFreeForOwner) return false;
  if (!task.piece[piece].compare_exchange_strong(bits, running)) return false;
  progress_.begin_sample(ticket, static_cast<std::int32_t>(piece), task.position.load(std::memory_order_relaxed));
  return true;
}

bool BoardClient::finish(std::uint64_t ticket, std::uint32_t piece) noexcept {
  TaskEntry& task = memory()->task(ticket);
  if (!runs(task, ticket, piece)) return false;
  const std::uint64_t word = Word{.ticket = ticket, .process = number_, .state = kPieceLocal}.bits();
  progress_.end_sample();
  book_work(task);
  task.piece[piece].store(word, std::memory_order_release);
  return true;
}

bool BoardClient::ready(std::uint64_t ticket) const noexcept {
  const TaskEntry& task = memory()->task(ticket);
  if (!owns(task, ticket)) return false;
  const std::uint32_t pieces = task.piece_count();
  return std::all_of(task.piece.begin(), task.piece.begin() + pieces, [](const auto& piece) {
    const std::uint8_t state = Word::of(piece.load()).state;
    return state == kPieceLocal || state == kPieceDelivered;
  });
}

Result<std::optional<Packet>> BoardClient::delivered(std::uint64_t ticket, std::uint32_t piece) const {
  const TaskEntry& task = memory()->task(ticket);
  if (!owns(task, ticket) || piece >= task.piece_count() ||
      Word::of(task.piece[piece].load()).state != kPieceDelivered) {
    return std::optional<Packet>();
  }
  auto packet = read_packet(*memory(), task.result[piece].load(std::memory_order_relaxed));
  if (!packet.ok()) return std::move(packet).error();
  return std::optional(*std::move(packet));
}

Status BoardClient::deliver(std::uint64_t ticket, std::uint32_t kind, std::span<const Bytes> parts) {
  TaskEntry& task = memory()->task(ticket);
  if (!owns(task, ticket)) return not_begun(ticket);
  const auto manifest = pack(arena_, kind, parts);
  if (!manifest.ok()) return manifest.error();
  return end_task(task, ticket, *manifest);
}

Status BoardClient::drop(std::uint64_t ticket) {
  TaskEntry& task = memory()->task(ticket);
  if (!owns(task, ticket)) return not_begun(ticket);
  return end_task(task, ticket, 0);
}

Status BoardClient::end_task(TaskEntry& task, std::uint64_t ticket, std::uint64_t output) {
  owned_.erase(ticket);
  task.output.store(output, std::memory_order_relaxed);
  progress_.end_task();
  book_work(task);
  task.word.store(Word{.ticket = ticket, .process = number_, .state = kTaskDone}.bits());
  announce(*memory());
  return ok_status();
}

Status BoardClient::deliver_piece(std::uint64_t ticket, std::uint32_t piece, std::uint32_t kind,
                                  std::span<const Bytes> parts) {
  TaskEntry& task = memory()->task(ticket);
  if (!runs(task, ticket, piece)) return not_begun(ticket);
  const auto manifest = pack(arena_, kind, parts);
  if (!manifest.ok()) return manifest.error();
  task.result[piece].store(*manifest, std::memory_order_relaxed);
  progress_.end_sample();
  book_work(task);
  task.piece[piece].store(Word{.ticket = ticket, .process = number_, .state = kPieceDelivered}.bits());
  wake_owner(*memory(), task);
  return ok_status();
}

Status BoardClient::reopen_piece(std::uint64_t ticket, std::uint32_t piece) {
  TaskEntry& task = memory()->task(ticket);
  if (!runs(task, ticket, piece)) return not_begun(ticket);
  progress_.end_sample();
  book_work(task);
  task.piece[piece].store(Word{.ticket = ticket, .state = kPieceFreeForOwner}.bits());
  wake_owner(*memory(), task);
  return ok_status();
}

bool BoardClient::cancelled(std::uint64_t ticket) const noexcept {
  const TaskEntry& task = memory()->task(ticket);
  return Word::of(task.word.load()).ticket != ticket || task.cancelled.load() != 0 ||
         memory()->header().stop.load() != 0;
}

Result<BlockHandle> BoardClient::allocate(std::uint64_t bytes) {
  auto block = arena_.allocate(bytes);
  if (!block.ok()) return std::move(block).error();
  auto mapped = memory()->find(*block);
  if (!mapped.ok()) return std::move(mapped).error();
  return BlockHandle(memory(), *std::move(mapped), kMakerHold);
}

}  // namespace drapps
