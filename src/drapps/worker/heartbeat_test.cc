#include "drapps/worker/heartbeat.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/resource.h>

#include <array>
#include <thread>

#include "drapps/base/unique_handle.h"
#include "drapps/worker/testing.h"

namespace drapps {
namespace {

using namespace worker_testing;

TEST(HeartbeatTest, CountsUpWhileTheProcessLives) {
  auto board = make_board(1, 1);
  auto worker = attached(*board);
  const Parent parent{.pid = getpid(), .start = process_start_time(getpid())};
  ASSERT_TRUE(worker->start_heartbeat(parent, false).ok());
  while (board->status(0).heartbeats < 2) std::this_thread::sleep_for(milliseconds(10));
  EXPECT_GT(board->status(0).cpu_seconds, 0);
  EXPECT_EQ(board->status(0).pid, getpid());
  worker.reset();
  const std::uint64_t last = board->status(0).heartbeats;
  std::this_thread::sleep_for(milliseconds(600));
  EXPECT_EQ(board->status(0).heartbeats, last);
}

TEST(HeartbeatTest, StartTimesTellProcessesApart) {
  EXPECT_GT(process_start_time(getpid()), 0u);
  EXPECT_EQ(process_start_time(-1), 0u);
  const pid_t child = fork();
  if (child == 0) _exit(0);
  siginfo_t info;
  waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT);
  EXPECT_EQ(process_start_time(child), 0u) << "it has ended, though its parent has not asked how";
  waitpid(child, nullptr, 0);
}

TEST(HeartbeatTest, AParentThatIsAnotherProcessByNowEndsTheWorker) {
  auto board = make_board(1, 1);
  const Child child(*board, [](BoardClient& client) {
    (void)client.start_heartbeat({.pid = getppid(), .start = 1}, false);
    pause();
  });
  EXPECT_EQ(child.wait(), 1);
}

TEST(HeartbeatTest, AWorkerThatCanOpenNothingMoreHasAParentAllTheSame) {
  auto board = make_board(1, 1);
  const Child child(*board, [](BoardClient& client) {
    const Parent parent{.pid = getppid(), .start = process_start_time(getppid())};
    const int lowest = dup(STDIN_FILENO);
    close(lowest);
    const rlimit two{.rlim_cur = static_cast<rlim_t>(lowest) + 2, .rlim_max = static_cast<rlim_t>(lowest) + 2};
    setrlimit(RLIMIT_NOFILE, &two);
    _exit(client.start_heartbeat(parent, false).ok() ? 7 : 8);
  });
  EXPECT_EQ(child.wait(), 7);
}

TEST(HeartbeatTest, AChildOfAWorkerEndsWithoutWaitingForTheBeat) {
  auto board = make_board(1, 1);
  const Child child(*board, [](BoardClient& client) {
    (void)client.start_heartbeat({.pid = getppid(), .start = process_start_time(getppid())}, false);
    const pid_t grandchild = fork();
    if (grandchild == 0) {
      client.~BoardClient();
      _exit(0);
    }
    int status = 1;
    waitpid(grandchild, &status, 0);
    _exit(status == 0 ? 0 : 1);
  });
  EXPECT_EQ(child.wait(), 0);
}

/// Kills a parent whose worker does `worker_does` after it has started its heartbeat. Milliseconds until the worker
/// ends, or -1 where it does not.
template <class Body>
int ms_of_outliving(bool kill_with_parent, const Body& worker_does) {
  auto board = make_board(1, 1);
  const std::uint32_t number = *board->enlist();
  std::array<int, 2> ends{};
  EXPECT_EQ(pipe(ends.data()), 0);
  UniqueHandle reading(ends[0]);
  UniqueHandle writing(ends[1]);  // open in the worker and, until it dies, in its parent
  const pid_t middle = fork();
  if (middle == 0) {
    const Parent parent{.pid = getpid(), .start = process_start_time(getpid())};
    if (fork() == 0) {
      auto client = BoardClient::attach(board->memory()->fd(), number);
      if (!client.ok() || !(*client)->start_heartbeat(parent, kill_with_parent).ok()) _exit(2);
      (void)write(writing.get(), "r", 1);
      worker_does();
    }
    for (;;) pause();
  }
  writing.reset();
  char ready = 0;
  EXPECT_EQ(read(reading.get(), &ready, 1), 1);
  std::this_thread::sleep_for(milliseconds(100));
  const auto start = std::chrono::steady_clock::now();
  kill(middle, SIGKILL);
  waitpid(middle, nullptr, 0);
  pollfd end{.fd = reading.get(), .events = POLLIN};
  if (poll(&end, 1, 5000) != 1) return -1;
  return static_cast<int>((std::chrono::steady_clock::now() - start) / milliseconds(1));
}

TEST(HeartbeatTest, AWorkerEndsWithItsParentThoughItsMainThreadSleeps) {
  const int ms = ms_of_outliving(false, [] {
    for (;;) pause();
  });
  EXPECT_GE(ms, 0) << "it lives on";
}

TEST(HeartbeatTest, AStoppedWorkerEndsWithItsParentWhereTheKernelIsAsked) {
  const int ms = ms_of_outliving(true, [] {
    raise(SIGSTOP);
    for (;;) pause();
  });
  EXPECT_GE(ms, 0) << "it lives on";
}

}  // namespace
}  // namespace drapps
