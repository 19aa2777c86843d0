// The protocol, with the workers in this process: as objects that are driven step by step, and as threads.
#include "drapps/worker/board.h"

#include <gtest/gtest.h>

#include <chrono>
#include <deque>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "drapps/worker/testing.h"

namespace drapps {
namespace {

using namespace worker_testing;
using Kind = Work::WorkKind;

TEST_F(BoardTest, ATaskGoesOutAndItsResultComesBack) {
  auto worker = attached(*board_);
  const std::uint64_t ticket = publish(*board_, 42, {.worker = 3, .position = 100});
  EXPECT_FALSE(board_->done(ticket));
  EXPECT_FALSE(board_->take(ticket).ok());
  const Work work = *worker->next(kNow, false);
  ASSERT_EQ(work.kind, Kind::kTask);
  EXPECT_EQ(work.ticket, ticket);
  EXPECT_EQ(work.worker, 3u);
  EXPECT_EQ(work.pieces, 0u);
  EXPECT_EQ(work.position, 100u);
  EXPECT_EQ(value_in<std::uint64_t>(work.input), 42u);
  EXPECT_TRUE(worker->ready(ticket)) << "a whole has no pieces to wait for";

  auto block = worker->allocate(1000);
  ASSERT_TRUE(block.ok());
  const std::uint64_t number = 5;
  const Bytes parts[] = {bytes_of(number), {block->data(), 1000}, {block->data() + 10, 20}, {}};
  const std::uint32_t events = board_->events();
  ASSERT_TRUE(worker->deliver(ticket, 9, parts).ok());
  EXPECT_NE(board_->wait_event(events, kNow), events);
  EXPECT_TRUE(board_->wait(ticket, kNow));
  auto taken = board_->take(ticket);
  ASSERT_TRUE(taken.ok());
  EXPECT_EQ(taken->kind, 9);
  ASSERT_EQ(taken->parts.size(), 4u);
  EXPECT_EQ(value_in<std::uint64_t>(taken->parts[0].data), 5u);
  EXPECT_EQ(taken->parts[1].data.data(), block->data()) << "by reference";
  EXPECT_EQ(taken->parts[2].data.data(), block->data() + 10);
  EXPECT_TRUE(taken->parts[3].data.empty());
  EXPECT_FALSE(board_->take(ticket).ok()) << "once";

  const std::uint64_t again = publish(*board_, 1, {});
  ASSERT_EQ(worker->next(kNow, false)->ticket, again);
  ASSERT_TRUE(worker->deliver(again, 0, parts).ok());
  EXPECT_NE(board_->take(again)->parts[1].data.data(), block->data()) << "what was sent once is copied";
}

TEST_F(BoardTest, NothingIsInUseOnceAllIsLetGo) {
  auto worker = attached(*board_);
  {
    const std::uint64_t ticket = publish(*board_, 1, {.pieces = 4});
    own(*worker, *worker->next(kNow, false));
    auto taken = board_->take(ticket);
    EXPECT_GT(board_->bytes_in_use(), 0u);
  }
  EXPECT_EQ(board_->bytes_in_use(), 0u);
}

TEST_F(BoardTest, TheBoardIsFullOnlyWhenEveryPlaceIsTaken) {
  auto worker = attached(*board_);
  std::vector<std::uint64_t> tickets;
  for (std::uint64_t i = 0; i < 8; ++i) tickets.push_back(publish(*board_, i, {}));
  const std::uint64_t input = 8;
  EXPECT_EQ(*board_->publish(bytes_of(input), {}), std::nullopt);
  EXPECT_EQ(board_->bytes_in_use(), 8u * kPageBytes) << "the refused input is not kept";
  const Work slow = *worker->next(kNow, false);
  const Work quick = *worker->next(kNow, false);
  ASSERT_TRUE(worker->deliver(quick.ticket, 0, {}).ok());
  ASSERT_TRUE(board_->take(quick.ticket).ok());
  const auto next = board_->publish(bytes_of(input), {});
  ASSERT_TRUE(next.ok() && next->has_value()) << "a slow task does not hold up the others";
  EXPECT_GT(**next, tickets.back());
  EXPECT_EQ(*board_->publish(bytes_of(input), {}), std::nullopt);
  EXPECT_TRUE(worker->deliver(slow.ticket, 0, {}).ok());
}

TEST_F(BoardTest, ATaskIsFoundHoweverManyCameAndWentSince) {
  auto quick = attached(*board_);
  const std::uint64_t waiting = publish(*board_, 0, {.process = 1});
  for (std::uint64_t i = 0; i < 50; ++i) {
    const std::uint64_t ticket = publish(*board_, i, {});
    ASSERT_EQ(quick->next(kNow, false)->ticket, ticket);
    ASSERT_TRUE(quick->deliver(ticket, 0, {}).ok());
    ASSERT_TRUE(board_->take(ticket).ok());
  }
  auto late = attached(*board_);
  ASSERT_EQ(late->next(kNow, false)->ticket, waiting);
  ASSERT_TRUE(late->deliver(waiting, 0, {}).ok());
  ASSERT_TRUE(board_->take(waiting).ok());
  const std::uint64_t ticket = publish(*board_, 1, {});
  EXPECT_EQ(quick->next(kNow, false)->ticket, ticket);
}

TEST_F(BoardTest, WorkIsTakenInItsOrder) {
  auto worker = attached(*board_);
  auto other = attached(*board_);
  const std::uint64_t owned = publish(*board_, 0, {.pieces = 2});
  ASSERT_EQ(other->next(kNow, false)->ticket, owned);
  const std::uint64_t low = publish(*board_, 1, {});
  const std::uint64_t high = publish(*board_, 2, {});
  const std::uint64_t urgent = publish(*board_, 3, {.urgent = true});
  const std::uint64_t pinned = publish(*board_, 4, {.process = 0});
  publish(*board_, 5, {.process = 1, .urgent = true});
  for (const std::uint64_t expected : {pinned, urgent, low, high}) {
    const Work work = *worker->next(kNow, false);
    EXPECT_EQ(work.kind, Kind::kTask);
    EXPECT_EQ(work.ticket, expected);
  }
  const Work stolen = *worker->next(kNow, false);
  EXPECT_EQ(stolen.kind, Kind::kPiece);
  EXPECT_EQ(stolen.ticket, owned);
  EXPECT_EQ(stolen.piece, 1) << "from the back";
}

TEST_F(BoardTest, PiecesOfAnUrgentTaskComeBeforeOpenTasks) {
  auto owner = attached(*board_);
  auto thief = attached(*board_);
  const std::uint64_t urgent = publish(*board_, 0, {.pieces = 3, .urgent = true});
  ASSERT_EQ(owner->next(kNow, false)->ticket, urgent);
  const std::uint64_t open = publish(*board_, 1, {});
  ASSERT_TRUE(owner->begin(urgent, 0));
  EXPECT_EQ(thief->next(kNow, false)->piece, 2);
  EXPECT_EQ(thief->next(kNow, false)->piece, 1);
  EXPECT_EQ(thief->next(kNow, false)->ticket, open);
}

TEST_F(BoardTest, NothingIsStolenFromPinnedWholeCancelledOrOwnTasks) {
  auto owner = attached(*board_);
  auto thief = attached(*board_);
  publish(*board_, 0, {.process = 0, .pieces = 4});
  publish(*board_, 1, {.pieces = 0});
  const std::uint64_t cancelled = publish(*board_, 2, {.pieces = 4});
  for (int i = 0; i < 3; ++i) ASSERT_EQ(owner->next(kNow, false)->kind, Kind::kTask);
  board_->cancel(cancelled);
  EXPECT_EQ(thief->next(kNow, false)->kind, Kind::kNone);
  EXPECT_EQ(owner->next(kNow, false)->kind, Kind::kNone);
}

TEST_F(BoardTest, AnOwnerAndAThiefShareATask) {
  auto owner = attached(*board_);
  auto thief = attached(*board_);
  const std::uint64_t ticket = publish(*board_, 9, {.pieces = 3, .position = 30});
  ASSERT_EQ(owner->next(kNow, false)->kind, Kind::kTask);
  const Work stolen = *thief->next(kNow, false);
  ASSERT_EQ(stolen.piece, 2);
  EXPECT_EQ(stolen.position, 30u);
  EXPECT_EQ(board_->status(1).activity, Activity::kSample);
  EXPECT_EQ(board_->status(1).piece, 2);
  for (std::uint32_t piece = 0; piece < 2; ++piece) {
    ASSERT_TRUE(owner->begin(ticket, piece));
    EXPECT_FALSE(owner->begin(ticket, piece));
    ASSERT_TRUE(owner->finish(ticket, piece));
    EXPECT_FALSE(owner->finish(ticket, piece));
  }
  EXPECT_FALSE(owner->begin(ticket, 2));
  EXPECT_FALSE(owner->begin(ticket, 3));
  EXPECT_FALSE(thief->begin(ticket, 0)) << "not its task";
  EXPECT_FALSE(owner->ready(ticket));
  EXPECT_FALSE(owner->delivered(ticket, 2)->has_value());
  EXPECT_EQ(owner->next(kNow, true)->kind, Kind::kNone);
  help(*thief, stolen);
  EXPECT_EQ(owner->next(std::chrono::hours(1), true)->kind, Kind::kNone) << "returns at once: a piece has come";
  EXPECT_TRUE(owner->ready(ticket));
  EXPECT_FALSE(owner->delivered(ticket, 0)->has_value()) << "made by the owner itself";
  const std::optional<Packet> packet = *owner->delivered(ticket, 2);
  ASSERT_TRUE(packet);
  EXPECT_EQ(value_in<std::uint64_t>(packet->parts[0].data), sample(9, 2));
  EXPECT_FALSE(thief->deliver_piece(ticket, 2, 0, {}).ok()) << "once";
  EXPECT_FALSE(thief->deliver(ticket, 0, {}).ok()) << "not its task";
  ASSERT_TRUE(owner->deliver(ticket, 0, {}).ok());
  EXPECT_FALSE(owner->deliver(ticket, 0, {}).ok()) << "once";
  ASSERT_TRUE(board_->take(ticket).ok());
  EXPECT_EQ(board_->bytes_in_use(), 0u) << "the stolen piece's result, too";
  EXPECT_EQ(board_->status(0).samples, 2u);
  EXPECT_EQ(board_->status(0).tasks, 1u);
  EXPECT_EQ(board_->status(1).samples, 1u);
  ASSERT_EQ(board_->slowest().size(), 3u);
}

TEST_F(BoardTest, WhatAThiefMadeIsReleasedWhenTheTaskIsDoneThoughNobodyHasTakenIt) {
  auto owner = attached(*board_);
  auto thief = attached(*board_);
  const std::uint64_t ticket = publish(*board_, 9, {.pieces = 2});
  ASSERT_EQ(owner->next(kNow, false)->kind, Kind::kTask);
  ASSERT_EQ(thief->next(kNow, false)->piece, 1);
  ASSERT_TRUE(owner->begin(ticket, 0));
  ASSERT_TRUE(owner->finish(ticket, 0));
  const std::vector<std::byte> large(1 << 20);
  const Bytes parts[] = {large};
  ASSERT_TRUE(thief->deliver_piece(ticket, 1, 0, parts).ok());
  EXPECT_GT(board_->bytes_in_use(), large.size());
  const std::uint64_t next = publish(*board_, 1, {});
  EXPECT_TRUE(owner->delivered(ticket, 1)->has_value()) << "its owner may still look at it";
  const std::uint64_t number = 5;
  const Bytes result[] = {bytes_of(number)};
  ASSERT_TRUE(owner->deliver(ticket, 3, result).ok());
  publish(*board_, 2, {});
  EXPECT_LT(board_->bytes_in_use(), large.size());
  auto taken = board_->take(ticket);
  ASSERT_TRUE(taken.ok());
  EXPECT_EQ(value_in<std::uint64_t>(taken->parts[0].data), 5u);
  board_->cancel(next);
}

TEST_F(BoardTest, APieceThatCannotBeSentIsTheOwnersAlone) {
  auto owner = attached(*board_);
  auto thief = attached(*board_);
  const std::uint64_t ticket = publish(*board_, 9, {.pieces = 1});
  EXPECT_TRUE(owner->next(kNow, false).ok());
  ASSERT_EQ(thief->next(kNow, false)->piece, 0);
  ASSERT_FALSE(owner->begin(ticket, 0));
  ASSERT_TRUE(thief->reopen_piece(ticket, 0).ok());
  EXPECT_FALSE(thief->reopen_piece(ticket, 0).ok());
  EXPECT_EQ(thief->next(kNow, false)->kind, Kind::kNone);
  EXPECT_EQ(owner->next(std::chrono::hours(1), true)->kind, Kind::kNone);
  EXPECT_TRUE(owner->begin(ticket, 0));
}

TEST_F(BoardTest, APinnedTaskIsGivenToAnother) {
  auto worker = attached(*board_);
  const std::uint64_t ticket = publish(*board_, 9, {.process = 3});
  EXPECT_EQ(worker->next(kNow, false)->kind, Kind::kNone);
  board_->repin(ticket, 0);
  EXPECT_EQ(worker->next(kNow, false)->ticket, ticket);
  board_->repin(ticket, 3);  // too late
  EXPECT_TRUE(worker->deliver(ticket, 0, {}).ok());
}

TEST_F(BoardTest, APinnedTaskThatIsTakenIsOpenedToHelp) {
  auto owner = attached(*board_);
  auto other = attached(*board_);
  const std::uint64_t ticket = publish(*board_, 9, {.process = 0, .pieces = 2});
  EXPECT_EQ(owner->next(kNow, false)->kind, Kind::kTask);
  board_->repin(ticket, 1);  // too late
  EXPECT_EQ(other->next(kNow, false)->kind, Kind::kNone);
  board_->repin(ticket, -1);
  const Work work = *other->next(kNow, false);
  EXPECT_EQ(work.kind, Kind::kPiece);
  EXPECT_EQ(work.piece, 1);
}

TEST_F(BoardTest, OrdersThatMakeNoSenseAreRefused) {
  EXPECT_FALSE(board_->publish({}, {.pieces = kMaxPieces + 1}).ok());
  EXPECT_FALSE(board_->publish({}, {.process = 4}).ok());
  EXPECT_FALSE(board_->publish({}, {.process = -2}).ok());
  EXPECT_EQ(board_->bytes_in_use(), 0u);
}

TEST(BoardThreadsTest, ManyWorkersCompleteEveryTaskOnce) {
  constexpr std::uint64_t kTasks = 400;
  constexpr std::uint32_t kPieces = 8;
  auto board = make_board(4, 8);
  std::vector<std::unique_ptr<BoardClient>> clients;
  for (int i = 0; i < 4; ++i) clients.push_back(attached(*board));
  std::vector<std::jthread> threads;
  for (auto& client : clients) threads.emplace_back([&client] { work(*client); });
  std::deque<std::uint64_t> tickets;
  std::uint64_t published = 0;
  for (std::uint64_t taken = 0; taken < kTasks; ++taken) {
    for (; published < kTasks && tickets.size() < 6; ++published) {
      tickets.push_back(publish(*board, published, {.pieces = kPieces, .urgent = published % 5 == 0}));
    }
    ASSERT_TRUE(board->wait(tickets.front(), std::chrono::seconds(300)));
    take_and_check(*board, tickets.front(), taken, kPieces);
    tickets.pop_front();
  }
  board->stop();
  threads.clear();
  EXPECT_EQ(board->bytes_in_use(), 0u);
}

}  // namespace
}  // namespace drapps
