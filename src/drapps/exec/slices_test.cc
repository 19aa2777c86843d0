#include "drapps/exec/slices.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <thread>

namespace drapps {
namespace {

TEST(Slices, LongOnesLastLongerAndChangeNoPriority) {
  std::thread([] {
    setpriority(PRIO_PROCESS, 0, 3);
    const auto before = slice();
    if (before.count() == 0) GTEST_SKIP() << "this kernel tells no slices";
    take_long_slices();
    EXPECT_GT(slice(), before);
    EXPECT_EQ(getpriority(PRIO_PROCESS, 0), 3);
    std::thread([long_one = slice()] { EXPECT_EQ(slice(), long_one); }).join();
  }).join();
}

TEST(Slices, OfOtherThreadsStay) {
  const auto before = slice();
  std::thread([] { take_long_slices(); }).join();
  EXPECT_EQ(slice(), before);
}

}  // namespace
}  // namespace drapps
