// The protocol, with workers that are processes and die.
#include <gtest/gtest.h>

#include <deque>
#include <list>
#include <random>
#include <thread>
#include <vector>

#include "drapps/base/full_testing.h"
#include "drapps/worker/testing.h"

namespace drapps {
namespace {

using namespace worker_testing;
using Kind = Work::WorkKind;
using Places = std::vector<std::pair<std::uint64_t, std::int32_t>>;

constexpr milliseconds kAtOnce{0};

[[noreturn]] void sleep_for_ever() {
  for (;;) pause();
}

Places places(const std::vector<Lost>& lost) {
  Places pairs;
  for (const Lost& one : lost) pairs.emplace_back(one.ticket, one.piece);
  return pairs;
}

/// Waits until `condition` holds; a process may take a while to get there.
template <class Condition>
::testing::AssertionResult comes_true(const Condition& condition) {
  for (int i = 0; i < 4000; ++i) {
    if (condition()) return ::testing::AssertionSuccess();
    std::this_thread::sleep_for(milliseconds(1));
  }
  return ::testing::AssertionFailure() << "not within 4 s";
}

TEST(ReapTest, WhatAnOwnerHadBegunIsOpenAgain) {
  auto board = make_board(3, 8);
  const std::uint64_t ticket = publish(*board, 5, {.pieces = 4});
  const std::uint64_t pinned = publish(*board, 6, {.process = 0});
  Child child(*board, [](BoardClient& client) {
    EXPECT_TRUE(client.next(kLong, false).ok());
    const Work work = *client.next(kLong, false);
    client.begin(work.ticket, 0);
    client.finish(work.ticket, 0);
    client.memory()->task(work.ticket).output = 4096;  // as if it died while it delivered
    client.begin(work.ticket, 1);
    sleep_for_ever();
  });
  EXPECT_TRUE(comes_true([&] { return board->status(child.number()).piece == 1; }));
  auto thief = attached(*board);
  const Work stolen = *thief->next(kAtOnce, false);
  ASSERT_EQ(stolen.piece, 3);
  help(*thief, stolen);
  EXPECT_EQ(places(child.kill_and_reap(*board)), (Places{{ticket, -1}, {ticket, 1}, {pinned, -1}}));
  EXPECT_EQ(board->status(child.number()).pid, child.pid()) << "what it was at can still be asked";

  EXPECT_EQ(board->memory()->task(ticket).output, 0u);
  const Work again = *thief->next(kAtOnce, false);
  EXPECT_EQ(again.ticket, ticket) << "the pinned one waits for its process";
  EXPECT_FALSE(thief->begin(ticket, 3)) << "what was delivered stays";
  own(*thief, again);
  take_and_check(*board, ticket, 5, 4);
  board->repin(pinned, 1);
  EXPECT_EQ(thief->next(kAtOnce, false)->ticket, pinned);
}

TEST(ReapTest, AThiefsPieceIsFreeAgainAndItsOwnerIsTold) {
  auto board = make_board(2, 8);
  auto owner = attached(*board);
  const std::uint64_t ticket = publish(*board, 5, {.pieces = 1});
  EXPECT_TRUE(owner->next(kAtOnce, false).ok());
  const Child thief(*board, [](BoardClient& client) {
    EXPECT_TRUE(client.next(kLong, false).ok());
    sleep_for_ever();
  });
  EXPECT_TRUE(comes_true([&] { return board->status(thief.number()).activity == Activity::kSample; }));
  EXPECT_FALSE(owner->begin(ticket, 0));
  EXPECT_EQ(owner->next(kAtOnce, true)->kind, Kind::kNone);
  EXPECT_EQ(places(thief.kill_and_reap(*board)), (Places{{ticket, 0}}));
  EXPECT_EQ(owner->next(kLong, true)->kind, Kind::kNone) << "at once";
  EXPECT_TRUE(owner->begin(ticket, 0));
}

TEST(ReapTest, ResultsOutliveTheirMakerAndItsSlotWaitsForThem) {
  auto board = make_board(1, 8);
  const std::uint64_t kept = publish(*board, 5, {.pieces = 2});
  const std::uint64_t waiting = publish(*board, 6, {.pieces = 2});
  const Child child(*board, [](BoardClient& client) {
    own(client, *client.next(kLong, false));
    own(client, *client.next(kLong, false));
    auto unsent = client.allocate(1 << 20);
    std::memset(unsent->data(), 1, 1 << 20);
    sleep_for_ever();
  });
  ASSERT_TRUE(board->wait(waiting, kLong));
  EXPECT_TRUE(comes_true([&] { return board->bytes_in_use() > 1 << 20; }));
  auto taken = board->take(kept);
  ASSERT_TRUE(taken.ok());
  child.kill_and_reap(*board);
  EXPECT_LT(board->bytes_in_use(), 1u << 20) << "what it had not sent is gone";
  EXPECT_LT(board->resident(), 1u << 20);
  EXPECT_FALSE(board->enlist().ok()) << "its results are still held";
  EXPECT_EQ(value_in<std::uint64_t>(taken->parts[1].data), 5u);
  take_and_check(*board, waiting, 6, 2);
  EXPECT_FALSE(board->enlist().ok());
  taken = TakenResult();
  EXPECT_EQ(board->bytes_in_use(), 0u);
  EXPECT_TRUE(board->enlist().ok());
}

TEST(ReapTest, ACancelledTaskOfADeadProcessIsGone) {
  auto board = make_board(1, 8);
  const std::uint64_t ticket = publish(*board, 5, {.pieces = 2});
  const Child child(*board, [](BoardClient& client) {
    const Work work = *client.next(kLong, false);
    client.begin(work.ticket, 0);
    sleep_for_ever();
  });
  EXPECT_TRUE(comes_true([&] { return board->status(0).activity == Activity::kSample; }));
  board->cancel(ticket);
  EXPECT_TRUE(child.kill_and_reap(*board).empty());
  EXPECT_EQ(board->bytes_in_use(), 0u);
}

TEST(ReapTest, AChildOfTheParentDropsHandlesWithoutEffect) {
  auto board = make_board(1, 8);
  auto worker = attached(*board);
  const std::uint64_t ticket = publish(*board, 5, {.pieces = 2});
  own(*worker, *worker->next(kAtOnce, false));
  auto taken = board->take(ticket);
  ASSERT_TRUE(taken.ok());
  const std::uint64_t before = board->bytes_in_use();
  auto unsent = worker->allocate(100);
  const pid_t child = fork();
  if (child == 0) {
    taken = TakenResult();
    {
      const BlockHandle dropped = std::move(unsent).value();
    }
    const bool refused = !worker->allocate(100).ok();
    worker.reset();
    _exit(refused ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(board->bytes_in_use(), before + kPageBytes);
}

TEST(ReapTest, ProcessesAreKilledAtAnyMomentAndEveryTaskIsCompletedOnce) {
  const std::uint64_t tasks = full_tests() ? 1500 : 500;
  const int least_kills = full_tests() ? 100 : 40;
  constexpr std::uint32_t kPieces = 8;
  auto board = make_board(64, 8);  // numbers of the dead wait for the results in them
  std::list<Child> children;
  for (int i = 0; i < 3; ++i) children.emplace_back(*board, work);
  std::mt19937 random(1);
  std::deque<std::uint64_t> tickets;
  std::uint64_t published = 0;
  std::uint64_t most_resident = 0;
  int kills = 0;
  auto next_kill = std::chrono::steady_clock::now();
  for (std::uint64_t taken = 0; taken < tasks || kills < least_kills; ++taken) {
    for (; tickets.size() < 6; ++published) {
      const std::uint32_t pieces = published % 4 == 3 ? 0 : kPieces;
      tickets.push_back(publish(*board, published, {.pieces = pieces, .urgent = published % 7 == 0}));
    }
    const auto start = std::chrono::steady_clock::now();
    while (!board->wait(tickets.front(), std::chrono::microseconds(50)) || next_kill < start) {
      const auto now = std::chrono::steady_clock::now();
      ASSERT_LT(now - start, std::chrono::seconds(300)) << "task " << tickets.front() << " does not end";
      if (now < next_kill) continue;
      next_kill = now + std::chrono::microseconds(random() % 8000);
      auto victim = std::next(children.begin(), random() % 3);
      victim->kill_and_reap(*board);
      children.erase(victim);
      children.emplace_back(*board, work);
      ++kills;
    }
    take_and_check(*board, tickets.front(), taken, taken % 4 == 3 ? 0 : kPieces);
    tickets.pop_front();
    most_resident = std::max(most_resident, board->resident());
  }
  for (const std::uint64_t ticket : tickets) board->cancel(ticket);
  board->stop();
  for (const Child& child : children) {
    EXPECT_EQ(child.wait(), 0);
    board->reap(child.number());
  }
  EXPECT_EQ(board->bytes_in_use(), 0u);
  EXPECT_LT(most_resident, 16u << 20) << "memory of the dead is released";
  EXPECT_LT(board->resident(), 1u << 20);
}

TEST(ReapTest, AStoppedProcessDoesNotKeepWorkFromOthers) {
  auto board = make_board(2, 8);
  const Child first(*board, work);
  const Child second(*board, work);
  const auto idle = [&](const Child& child) {
    return comes_true([&] { return board->status(child.number()).activity == Activity::kIdle; });
  };
  EXPECT_TRUE(idle(first));
  EXPECT_TRUE(idle(second));
  kill(first.pid(), SIGSTOP);
  for (std::uint64_t i = 0; i < 4; ++i) {
    const std::uint64_t ticket = publish(*board, i, {});
    ASSERT_TRUE(board->wait(ticket, std::chrono::seconds(300)));
    take_and_check(*board, ticket, i, 0);
  }
  first.kill_and_reap(*board);
  board->stop();
  EXPECT_EQ(second.wait(), 0);
}

}  // namespace
}  // namespace drapps
