// The protocol, with the workers in this process: tasks that are cancelled or dropped, workers that sleep or end.
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <thread>
#include <vector>

#include "drapps/base/clock.h"
#include "drapps/worker/board.h"
#include "drapps/worker/testing.h"

namespace drapps {
namespace {

using namespace worker_testing;
using Kind = Work::WorkKind;

TEST_F(BoardTest, AnOpenTaskIsCancelledAtOnce) {
  const std::uint64_t ticket = publish(*board_, 9, {.pieces = 4});
  board_->cancel(ticket);
  board_->cancel(ticket);
  EXPECT_EQ(board_->bytes_in_use(), 0u);
  auto worker = attached(*board_);
  EXPECT_EQ(worker->next(kNow, false)->kind, Kind::kNone);
}

TEST_F(BoardTest, ACancelledTaskEndsWhenItsOwnerDropsIt) {
  auto owner = attached(*board_);
  const std::uint64_t ticket = publish(*board_, 9, {.pieces = 4});
  EXPECT_TRUE(owner->next(kNow, false).ok());
  EXPECT_FALSE(owner->cancelled(ticket));
  board_->cancel(ticket);
  EXPECT_TRUE(owner->cancelled(ticket));
  EXPECT_EQ(owner->next(std::chrono::hours(1), true)->kind, Kind::kNone) << "an owner that waits is told";
  EXPECT_GT(board_->bytes_in_use(), 0u);
  ASSERT_TRUE(owner->drop(ticket).ok());
  EXPECT_EQ(board_->bytes_in_use(), 0u);
  EXPECT_FALSE(board_->take(ticket).ok());
}

TEST_F(BoardTest, ACancelledTaskWaitsForPiecesThatRunElsewhere) {
  auto owner = attached(*board_);
  auto thief = attached(*board_);
  const std::uint64_t ticket = publish(*board_, 9, {.pieces = 4});
  EXPECT_TRUE(owner->next(kNow, false).ok());
  const Work stolen = *thief->next(kNow, false);
  board_->cancel(ticket);
  ASSERT_TRUE(owner->drop(ticket).ok());
  EXPECT_GT(board_->bytes_in_use(), 0u);
  EXPECT_EQ(value_in<std::uint64_t>(stolen.input), 9u) << "the thief may still read it";
  help(*thief, stolen);
  EXPECT_EQ(board_->bytes_in_use(), 0u);
}

TEST_F(BoardTest, ADoneTaskIsCancelledWithItsResult) {
  auto owner = attached(*board_);
  const std::uint64_t ticket = publish(*board_, 9, {.pieces = 4});
  own(*owner, *owner->next(kNow, false));
  ASSERT_TRUE(board_->done(ticket));
  board_->cancel(ticket);
  EXPECT_FALSE(board_->take(ticket).ok());
  EXPECT_EQ(board_->bytes_in_use(), 0u);
}

TEST_F(BoardTest, AnErrorMayComeBeforeAllPiecesAreMade) {
  auto owner = attached(*board_);
  auto thief = attached(*board_);
  const std::uint64_t ticket = publish(*board_, 9, {.pieces = 4});
  EXPECT_TRUE(owner->next(kNow, false).ok());
  const Work stolen = *thief->next(kNow, false);
  ASSERT_TRUE(owner->deliver(ticket, 1, {}).ok());
  EXPECT_EQ(board_->take(ticket)->kind, 1);
  EXPECT_EQ(thief->next(kNow, false)->kind, Kind::kNone) << "its free pieces are nobody's";
  help(*thief, stolen);
  EXPECT_EQ(board_->bytes_in_use(), 0u);
}

TEST_F(BoardTest, ADroppedTaskHasNoResult) {
  auto owner = attached(*board_);
  const std::uint64_t ticket = publish(*board_, 9, {});
  EXPECT_TRUE(owner->next(kNow, false).ok());
  ASSERT_TRUE(owner->drop(ticket).ok());
  EXPECT_EQ(board_->take(ticket)->kind, -1);
}

TEST_F(BoardTest, AProcessSleepsWhileTheCpuBudgetIsUsedUp) {
  CpuBudget budget;
  budget.set_cores(0.1);
  const std::uint32_t number = *board_->enlist();
  auto client = BoardClient::attach(board_->memory()->fd(), number, budget.fd());
  ASSERT_TRUE(client.ok());
  ASSERT_TRUE((*client)->next(std::chrono::nanoseconds(0), false).ok());  // what was used before is nobody's business
  const std::uint64_t ticket = publish(*board_, 7, {.process = static_cast<std::int32_t>(number), .pieces = 2});
  const Work work = *(*client)->next(std::chrono::seconds(1), false);
  ASSERT_EQ(work.ticket, ticket);
  const std::uint64_t began = monotonic_ns();
  const std::uint64_t until = thread_cpu_ns() + 50'000'000;
  while (thread_cpu_ns() < until) {
  }
  EXPECT_TRUE((*client)->begin(ticket, 0));
  EXPECT_GE(monotonic_ns() - began, 400'000'000);  // half a second at a tenth of a core, but for the burst
  EXPECT_GE(board_->status(number).paused_seconds, 0.3);
  board_->stop();
  budget.set_cores(0.0001);
  const std::uint64_t more = thread_cpu_ns() + 10'000'000;
  while (thread_cpu_ns() < more) {
  }
  EXPECT_TRUE((*client)->begin(ticket, 1));  // who is to end does not sleep
  EXPECT_FALSE(BoardClient::attach(board_->memory()->fd(), *board_->enlist(), board_->memory()->fd()).ok());
}

TEST_F(BoardTest, ARetiredProcessTakesNothingNewAndEndsWhenItHoldsNothing) {
  auto worker = attached(*board_);
  auto other = attached(*board_);
  const std::uint64_t ticket = publish(*board_, 9, {.pieces = 2});
  EXPECT_TRUE(worker->next(kNow, false).ok());
  ASSERT_EQ(other->next(kNow, false)->piece, 1);
  board_->retire(0);
  publish(*board_, 1, {});
  publish(*board_, 1, {.process = 0});
  ASSERT_TRUE(worker->begin(ticket, 0)) << "its own task goes on";
  EXPECT_EQ(worker->next(kNow, true)->kind, Kind::kNone);
  EXPECT_EQ(worker->next(kNow, true)->kind, Kind::kNone);
  EXPECT_EQ(worker->next(std::chrono::hours(1), false)->kind, Kind::kStop);
  EXPECT_EQ(other->next(kNow, false)->kind, Kind::kTask);
}

TEST_F(BoardTest, StopEndsAllAndCancelsWhatTheyHold) {
  auto worker = attached(*board_);
  const std::uint64_t ticket = publish(*board_, 9, {.pieces = 2});
  EXPECT_TRUE(worker->next(kNow, false).ok());
  board_->stop();
  EXPECT_TRUE(worker->cancelled(ticket));
  EXPECT_EQ(worker->next(std::chrono::hours(1), true)->kind, Kind::kNone);
  EXPECT_EQ(worker->next(std::chrono::hours(1), false)->kind, Kind::kStop);
}

TEST_F(BoardTest, ASlotSeatsOneProcess) {
  const std::uint32_t number = *board_->enlist();
  EXPECT_EQ(board_->status(number).ticket, -1);
  EXPECT_TRUE(BoardClient::attach(board_->memory(), number).ok());
  EXPECT_FALSE(BoardClient::attach(board_->memory(), number).ok());
  EXPECT_FALSE(BoardClient::attach(board_->memory(), 3).ok());
  EXPECT_FALSE(BoardClient::attach(board_->memory(), 4).ok());
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(board_->enlist().ok());
  EXPECT_FALSE(board_->enlist().ok());
  EXPECT_TRUE(board_->reap(number).empty());
  EXPECT_TRUE(board_->reap(number).empty()) << "once is enough";
  EXPECT_EQ(*board_->enlist(), number);
}

TEST(BoardThreadsTest, TasksAreCancelledWhileTheyAreWorkedAt) {
  auto board = make_board(3, 8);
  std::vector<std::unique_ptr<BoardClient>> clients;
  for (int i = 0; i < 3; ++i) clients.push_back(attached(*board));
  std::vector<std::jthread> threads;
  for (auto& client : clients) threads.emplace_back([&client] { work(*client); });
  for (std::uint64_t i = 0; i < 300; ++i) {
    const std::uint64_t input = i;
    const auto kept = board->publish(bytes_of(input), {.pieces = 8});
    const auto unwanted = board->publish(bytes_of(input), {.pieces = 8});
    ASSERT_TRUE(kept.ok() && unwanted.ok());
    if (i % 3 == 0) std::this_thread::yield();
    if (*unwanted) board->cancel(**unwanted);
    if (!*kept) continue;
    ASSERT_TRUE(board->wait(**kept, std::chrono::seconds(300)));
    take_and_check(*board, **kept, i, 8);
  }
  board->stop();
  threads.clear();
  EXPECT_EQ(board->bytes_in_use(), 0u);
}

}  // namespace
}  // namespace drapps
