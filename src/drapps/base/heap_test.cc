#include "drapps/base/heap.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cstdlib>
#include <cstring>
#include <vector>

namespace drapps {
namespace {

long faults() {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  return used.ru_minflt;
}

/// Pages of memory that is allocated, written to and freed again, block after block.
long faults_of_a_batch() {
  constexpr std::size_t kBlocks = 40, kBytes = 600 << 10;
  const long before = faults();
  std::vector<void*> blocks(kBlocks);
  for (void*& block : blocks) {
    block = std::malloc(kBytes);
    if (block != nullptr) std::memset(block, 1, kBytes);
  }
  for (void* block : blocks) std::free(block);
  return faults() - before;
}

TEST(Heap, ABatchIsMadeInTheMemoryOfTheOneBefore) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || !defined(__GLIBC__)
  GTEST_SKIP() << "another malloc";
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
  GTEST_SKIP() << "another malloc";
#endif
#endif
  keep_freed_memory();
  const long first = faults_of_a_batch();
  EXPECT_GT(first, 1000);
  EXPECT_LT(faults_of_a_batch(), first / 10);
}

}  // namespace
}  // namespace drapps
