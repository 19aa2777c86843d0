// What the tests of this layer share: a worker's loop over a task that can be checked, and processes that run it.
#pragma once

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "drapps/worker/board.h"
#include "drapps/worker/board_client.h"

namespace drapps::worker_testing {

using std::chrono::milliseconds;

inline constexpr milliseconds kNow{0};
inline constexpr milliseconds kLong{600'000};  // against hanging

inline constexpr std::uint64_t kRegionBytes = std::uint64_t{64} << 20;

inline std::unique_ptr<Board> make_board(std::uint32_t processes, std::uint32_t tasks,
                                         std::uint64_t region_bytes = kRegionBytes) {
  auto board = Board::make(processes, tasks, region_bytes);
  EXPECT_TRUE(board.ok()) << board.error().message;
  return std::move(board).value();
}

class BoardTest : public ::testing::Test {
 protected:
  std::unique_ptr<Board> board_ = make_board(4, 8);
};

/// A worker in this process.
inline std::unique_ptr<BoardClient> attached(Board& board) {
  auto client = BoardClient::attach(board.memory(), *board.enlist());
  EXPECT_TRUE(client.ok());
  return std::move(client).value();
}

template <class T>
Bytes bytes_of(const T& value) {
  return std::as_bytes(std::span(&value, 1));
}

template <class T>
T value_in(std::span<const std::byte> bytes) {
  T value{};
  std::memcpy(&value, bytes.data(), std::min(bytes.size(), sizeof(value)));
  return value;
}

inline std::uint64_t publish(Board& board, std::uint64_t input, const TaskRequest& request) {
  auto ticket = board.publish(bytes_of(input), request);
  EXPECT_TRUE(ticket.ok() && ticket->has_value());
  return **ticket;
}

/// What a piece of a task is to give.
inline std::uint64_t sample(std::uint64_t input, std::uint32_t piece) { return input * 1'000'003 + piece; }

inline void help(BoardClient& client, const Work& work) {
  const std::uint64_t value = sample(value_in<std::uint64_t>(work.input), static_cast<std::uint32_t>(work.piece));
  const Bytes parts[] = {bytes_of(value)};
  EXPECT_TRUE(client.deliver_piece(work.ticket, static_cast<std::uint32_t>(work.piece), 0, parts).ok());
}

/// Makes all of a task, as a worker should, and delivers the samples in a block of 64 KiB.
inline void own(BoardClient& client, const Work& work) {
  const auto input = value_in<std::uint64_t>(work.input);
  std::vector<bool> own_pieces(work.pieces);
  for (;;) {
    for (std::uint32_t piece = 0; piece < work.pieces; ++piece) {
      if (own_pieces[piece] || !client.begin(work.ticket, piece)) continue;
      own_pieces[piece] = true;
      EXPECT_TRUE(client.finish(work.ticket, piece));
    }
    if (client.cancelled(work.ticket)) {
      EXPECT_TRUE(client.drop(work.ticket).ok());
      return;
    }
    if (client.ready(work.ticket)) break;
    const Work other = *client.next(milliseconds(100), true);
    if (other.kind == Work::WorkKind::kPiece) help(client, other);
    if (other.kind == Work::WorkKind::kTask) own(client, other);
  }
  auto block = client.allocate(64 << 10);
  ASSERT_TRUE(block.ok());
  for (std::uint32_t piece = 0; piece < work.pieces; ++piece) {
    std::uint64_t value = sample(input, piece);
    if (!own_pieces[piece]) {
      const auto packet = client.delivered(work.ticket, piece);
      ASSERT_TRUE(packet.ok() && packet->has_value());
      value = value_in<std::uint64_t>((*packet)->parts[0].data);
    }
    std::memcpy(block->data() + piece * sizeof(value), &value, sizeof(value));
  }
  const Bytes parts[] = {{block->data(), work.pieces * sizeof(std::uint64_t)}, bytes_of(input)};
  EXPECT_TRUE(client.deliver(work.ticket, 7, parts).ok());
}

/// Works until it is told to stop.
inline void work(BoardClient& client) {
  for (;;) {
    const Work given = *client.next(milliseconds(200), false);
    if (given.kind == Work::WorkKind::kStop) return;
    if (given.kind == Work::WorkKind::kPiece) help(client, given);
    if (given.kind == Work::WorkKind::kTask) own(client, given);
  }
}

/// Takes the result of a task that own() made, and checks it.
inline void take_and_check(Board& board, std::uint64_t ticket, std::uint64_t input, std::uint32_t pieces) {
  auto taken = board.take(ticket);
  ASSERT_TRUE(taken.ok()) << taken.error().message;
  ASSERT_EQ(taken->kind, 7);
  ASSERT_EQ(taken->parts.size(), 2u);
  ASSERT_EQ(taken->parts[0].data.size(), pieces * sizeof(std::uint64_t));
  for (std::uint32_t piece = 0; piece < pieces; ++piece) {
    ASSERT_EQ(value_in<std::uint64_t>(taken->parts[0].data.subspan(piece * 8)), sample(input, piece));
  }
  ASSERT_EQ(value_in<std::uint64_t>(taken->parts[1].data), input);
}

/// A worker process that runs `body(client)`.
class Child {
 public:
  template <class Body>
  Child(Board& board, const Body& body) : number_(*board.enlist()), pid_(fork()) {
    if (pid_ != 0) return;
    prctl(PR_SET_PDEATHSIG, SIGKILL);  // a test that fails leaves none behind
    auto client = BoardClient::attach(board.memory()->fd(), number_);
    if (!client.ok()) _exit(2);
    body(**client);
    _exit(::testing::Test::HasFailure() ? 1 : 0);
  }
  std::uint32_t number() const { return number_; }
  pid_t pid() const { return pid_; }
  /// The exit status, or minus the signal.
  int wait() const {
    int status = 0;
    waitpid(pid_, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }
  std::vector<Lost> kill_and_reap(Board& board) const {
    kill(pid_, SIGKILL);
    EXPECT_EQ(wait(), -SIGKILL);
    return board.reap(number_);
  }

 private:
  std::uint32_t number_;
  pid_t pid_;
};

}  // namespace drapps::worker_testing
