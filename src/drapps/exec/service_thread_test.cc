#include "drapps/exec/service_thread.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>

#include <atomic>
#include <string>

namespace drapps {
namespace {

TEST(ServiceThreadTest, IsNamedAndBlocksAllSignals) {
  std::string name(16, '\0');
  bool blocked = false;
  std::atomic<bool> go{false};
  auto thread = ServiceThread::start("a-name-that-is-too-long", [&](const std::stop_token&) {
    go.wait(false);
    pthread_getname_np(pthread_self(), name.data(), name.size());
    sigset_t mask;
    pthread_sigmask(SIG_SETMASK, nullptr, &mask);
    blocked = sigismember(&mask, SIGINT) == 1 && sigismember(&mask, SIGTERM) == 1;
  });
  ASSERT_TRUE(thread.ok());
  go = true;
  go.notify_one();
  thread->join();
  EXPECT_STREQ(name.c_str(), "a-name-that-is-");
  EXPECT_TRUE(blocked);

  sigset_t mine;
  pthread_sigmask(SIG_SETMASK, nullptr, &mine);
  EXPECT_EQ(sigismember(&mine, SIGINT), 0) << "the maker's own mask is as before";
}

TEST(ServiceThreadTest, DestructionAsksTheFunctionToStop) {
  std::atomic<bool> stopped{false};
  {
    auto thread = ServiceThread::start("waits", [&](const std::stop_token& token) {
      while (!token.stop_requested()) std::this_thread::yield();
      stopped = true;
    });
    ASSERT_TRUE(thread.ok());
  }
  EXPECT_TRUE(stopped);
}

}  // namespace
}  // namespace drapps
