// An ItemCache whose writer dies between two instructions, for all of them.
//
// The writer is run one instruction at a time. Wherever the memory is another than an instruction before, a copy of it
// is kept: it is what a death at that place would leave. Once the writer is dead indeed, the copies are gone on with.
#include <gtest/gtest.h>
#include <sys/ptrace.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <vector>

#include "drapps/shm/item_cache.h"
#include "drapps/shm/item_testing.h"

namespace drapps {
namespace {

using namespace item_testing;

constexpr int kMostSteps = 5'000'000;
// All are of one size, so that each gap is as good as another.
constexpr std::uint64_t kStepItems = 5, kStepBytes = 1000;
constexpr std::uint64_t kStepBudget = kStepItems * round_up(kStepBytes, kItemAlignment);
using Memory = std::vector<std::byte>;

bool begin_step_item(ItemCache& cache, std::uint64_t index) {
  if (cache.claim(index) != ItemClaim::kTaken) return false;
  const auto room = cache.begin(index, kStepBytes);
  if (!room.ok() || !*room) return false;
  std::memset((*room)->data(), static_cast<int>(index) + 1, kStepBytes);
  return true;
}

bool make_step_item(ItemCache& cache, std::uint64_t index) {
  return begin_step_item(cache, index) && cache.publish(index).ok();
}

bool is_step_item(std::span<const std::byte> item, std::uint64_t index) {
  return item.size() == kStepBytes && std::ranges::all_of(item, [&](std::byte b) { return b == std::byte(index + 1); });
}

/// All that is in the memory of a cache, again and again while `work` runs in a process that is stepped through.
class Steps {
 public:
  Steps(ItemCache& cache, const std::function<void()>& work)
      : mapping_(*SharedFile::attach(cache.fd())->map(0, cache.table_bytes() + cache.budget())) {
    const pid_t child = start([&] {
      if (ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) return 77;
      raise(SIGSTOP);
      work();
      return 0;
    });
    look();
    for (int step = 0; step < kMostSteps; ++step) {
      status_ = wait_for(child);
      if (!WIFSTOPPED(status_)) return;
      look();
      ptrace(PTRACE_SINGLESTEP, child, nullptr, nullptr);
    }
    kill(child, SIGKILL);
    wait_for(child);
  }

  /// Whether it came to its end.
  bool traced() const { return WIFEXITED(status_) && WEXITSTATUS(status_) == 0; }
  const std::vector<Memory>& seen() const { return seen_; }

 private:
  void look() {
    if (!seen_.empty() && std::memcmp(seen_.back().data(), mapping_.data(), mapping_.bytes()) == 0) return;
    seen_.emplace_back(mapping_.data(), mapping_.data() + mapping_.bytes());
  }

  const Mapping mapping_;
  std::vector<Memory> seen_;
  int status_ = -1;
};

/// A cache whose memory is as it was seen.
std::shared_ptr<ItemCache> gone_on_with(const Memory& memory) {
  auto cache = *ItemCache::make(kStepItems, kStepBudget);
  const Mapping mapping = *SharedFile::attach(cache->fd())->map(0, memory.size());
  std::memcpy(mapping.data(), memory.data(), memory.size());
  return cache;
}

TEST(ItemCacheSteps, AWriterThatDiesAtAnyInstructionLosesNoByteAndLeavesNothingTorn) {
  const auto cache = *ItemCache::make(kStepItems, kStepBudget);
  const Steps steps(*cache, [&] {
    make_step_item(*cache, 0);
    begin_step_item(*cache, 1);
    make_step_item(*cache, 2);
    cache->abandon(1);  // leaves a gap
    begin_step_item(*cache, 3);
    cache->abandon(3);
    make_step_item(*cache, 3);
    make_step_item(*cache, 4);
    make_step_item(*cache, 1);  // in the gap
    cache->reclaim();
  });
  if (!steps.traced()) GTEST_SKIP() << "this process may not step through another one";
  EXPECT_GT(steps.seen().size(), 50u);
  for (const Memory& memory : steps.seen()) {
    const auto left = gone_on_with(memory);
    for (std::uint64_t i = 0; i < kStepItems; ++i) {
      if (const auto item = left->get(i)) {
        EXPECT_TRUE(is_step_item(*item, i)) << i;
      } else {
        EXPECT_TRUE(make_step_item(*left, i)) << i;
      }
    }
    EXPECT_EQ(left->stats().bytes, kStepBudget);
    for (std::uint64_t i = 0; i < kStepItems; ++i) EXPECT_TRUE(is_step_item(*left->get(i), i)) << i;

    const auto cleared = gone_on_with(memory);
    cleared->reclaim();
    EXPECT_EQ(cleared->stats().bytes, kept_bytes(*cleared));
    if (HasFailure()) FAIL() << "the " << &memory - steps.seen().data() << "th state of the memory";
  }
}

}  // namespace
}  // namespace drapps
