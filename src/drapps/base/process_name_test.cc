#include "drapps/base/process_name.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>

namespace drapps {
namespace {

TEST(ProcessName, AProcessKnowsItsOwnAndAChildHasAnother) {
  const ProcessName mine = ProcessName::own();
  EXPECT_EQ(mine.pid, getpid());
  EXPECT_GT(mine.start, 0u);
  EXPECT_FALSE(mine.has_ended());
  const pid_t child = fork();
  if (child == 0) _exit(ProcessName::own().pid == getpid() && ProcessName::own().start >= mine.start ? 0 : 1);
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST(ProcessName, AProcessHasEndedBeforeItsParentAsksHow) {
  const pid_t child = fork();
  if (child == 0) {
    pause();
    _exit(0);
  }
  const ProcessName name{.pid = child, .start = process_start_time(child) & ProcessName::kStartMask};
  EXPECT_FALSE(name.has_ended());
  EXPECT_TRUE((ProcessName{.pid = child, .start = name.start + 1}).has_ended()) << "another one with that pid";
  kill(child, SIGKILL);
  siginfo_t info;
  waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT);
  EXPECT_TRUE(name.has_ended());
  waitpid(child, nullptr, 0);
  EXPECT_TRUE(name.has_ended());
}

TEST(ProcessName, AProcessStandsStillUntilItIsContinued) {
  const pid_t child = fork();
  if (child == 0) {
    pause();
    _exit(0);
  }
  const ProcessName name{.pid = child, .start = process_start_time(child) & ProcessName::kStartMask};
  EXPECT_FALSE(name.is_stopped());
  kill(child, SIGSTOP);
  ASSERT_EQ(waitpid(child, nullptr, WUNTRACED), child);
  EXPECT_TRUE(name.is_stopped());
  EXPECT_FALSE(name.has_ended());
  EXPECT_FALSE((ProcessName{.pid = child, .start = name.start + 1}).is_stopped()) << "another one with that pid";
  kill(child, SIGCONT);
  ASSERT_EQ(waitpid(child, nullptr, WCONTINUED), child);
  EXPECT_FALSE(name.is_stopped());
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  EXPECT_FALSE(name.is_stopped());
}

TEST(ProcessName, AProcessWhoseFirstThreadHasEndedGoesOn) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const pid_t child = fork();
  if (child == 0) {
    std::thread([] { pause(); }).detach();
    if (write(ends[1], "x", 1) == 1) syscall(SYS_exit, 0);  // this thread alone
    _exit(1);
  }
  const ProcessName name{.pid = child, .start = process_start_time(child) & ProcessName::kStartMask};
  char got = 0;
  ASSERT_EQ(read(ends[0], &got, 1), 1);
  while (process_start_time(child) != 0) std::this_thread::yield();
  EXPECT_FALSE(name.has_ended());
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  EXPECT_TRUE(name.has_ended());
  close(ends[0]);
  close(ends[1]);
}

TEST(ProcessName, WhereNoDescriptorIsLeftNobodyHasEnded) {
  const ProcessName mine = ProcessName::own();
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit none{.rlim_cur = 0, .rlim_max = before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  const bool ended = mine.has_ended();
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_FALSE(ended);
}

}  // namespace
}  // namespace drapps
