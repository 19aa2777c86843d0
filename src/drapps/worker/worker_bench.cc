// What worker processes cost by themselves: a piece made by its owner, a task there and back, memory for a batch.
#include <benchmark/benchmark.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <memory>

#include "drapps/worker/board.h"
#include "drapps/worker/board_client.h"

namespace drapps {
namespace {

using std::chrono::seconds;

/// begin() and finish() of one piece.
void piece_of_an_own_task(benchmark::State& state) {
  auto board = std::move(*Board::make(1, 2));
  auto client = std::move(*BoardClient::attach(board->memory(), *board->enlist()));
  while (state.KeepRunningBatch(kMaxPieces)) {
    state.PauseTiming();
    const std::uint64_t ticket = **board->publish({}, {.pieces = kMaxPieces});
    (void)client->next(seconds(0), false);
    state.ResumeTiming();
    for (std::uint32_t piece = 0; piece < kMaxPieces; ++piece) {
      benchmark::DoNotOptimize(client->begin(ticket, piece));
      benchmark::DoNotOptimize(client->finish(ticket, piece));
    }
    state.PauseTiming();
    (void)client->deliver(ticket, 0, {});
    (void)board->take(ticket);
    state.ResumeTiming();
  }
}
BENCHMARK(piece_of_an_own_task);

/// publish() → deliver() → take() without another process: the bookkeeping alone.
void task_in_one_process(benchmark::State& state) {
  auto board = std::move(*Board::make(1, 64));
  auto client = std::move(*BoardClient::attach(board->memory(), *board->enlist()));
  for (auto _ : state) {
    const std::uint64_t ticket = **board->publish({}, {});
    (void)client->next(seconds(0), false);
    (void)client->deliver(ticket, 0, {});
    benchmark::DoNotOptimize(board->take(ticket));
  }
}
BENCHMARK(task_in_one_process);

/// publish() → deliver() → take() with a worker process, one task at a time: two wake-ups.
void task_through_a_process(benchmark::State& state) {
  auto board = std::move(*Board::make(1, 64));
  const std::uint32_t number = *board->enlist();
  const pid_t child = fork();
  if (child == 0) {
    auto client = std::move(*BoardClient::attach(board->memory()->fd(), number));
    for (;;) {
      const Work work = *client->next(seconds(10), false);
      if (work.kind == Work::WorkKind::kStop) _exit(0);
      if (work.kind == Work::WorkKind::kTask) (void)client->deliver(work.ticket, 0, {});
    }
  }
  for (auto _ : state) {
    const std::uint64_t ticket = **board->publish({}, {});
    while (!board->wait(ticket, seconds(1))) continue;
    benchmark::DoNotOptimize(board->take(ticket));
  }
  board->stop();
  waitpid(child, nullptr, 0);
}
BENCHMARK(task_through_a_process)->UseRealTime();

/// allocate() and release of a batch of 38 MB, in the steady state.
void block_of_a_batch(benchmark::State& state) {
  auto board = std::move(*Board::make(1, 1));
  auto client = std::move(*BoardClient::attach(board->memory(), *board->enlist()));
  for (auto _ : state) benchmark::DoNotOptimize(client->allocate(38'535'168));
}
BENCHMARK(block_of_a_batch);

}  // namespace
}  // namespace drapps
