// Counts what the codecs take from malloc, libjpeg's and libpng's own calls included, by standing in for malloc in
// this program. Sanitizers stand there themselves, so under them the counter stays silent and the tests are skipped.
#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <vector>

#include "drapps/decode/decoder.h"
#include "drapps/decode/testing.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define DRAPPS_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define DRAPPS_SANITIZED 1
#endif
#endif

namespace {
std::atomic<long> allocations{0};
}

#ifndef DRAPPS_SANITIZED
extern "C" {
void* __libc_malloc(std::size_t size);
void* __libc_calloc(std::size_t count, std::size_t size);
void* __libc_realloc(void* old, std::size_t size);
void* __libc_memalign(std::size_t alignment, std::size_t size);

__attribute__((visibility("default"))) void* malloc(std::size_t size) {
  ++allocations;
  return __libc_malloc(size);
}
__attribute__((visibility("default"))) void* calloc(std::size_t count, std::size_t size) {
  ++allocations;
  return __libc_calloc(count, size);
}
__attribute__((visibility("default"))) void* realloc(void* old, std::size_t size) {
  ++allocations;
  return __libc_realloc(old, size);
}
__attribute__((visibility("default"))) void* aligned_alloc(std::size_t alignment, std::size_t size) {
  ++allocations;
  return __libc_memalign(alignment, size);
}
}
#endif

namespace drapps {
namespace {

using testing::Bytes;

class Allocation : public ::testing::Test {
 protected:
  void SetUp() override {
#ifdef DRAPPS_SANITIZED
    GTEST_SKIP() << "a sanitizer counts for itself";
#endif
  }

  /// Calls of malloc in the third round over the files; the first two let everything grow.
  long steady_state(const std::vector<Bytes>& files) {
    MemoryLedger ledger;
    Decoder decoder(ledger);
    ImageBuffer out(ledger);
    long before = 0;
    for (int round = 0; round < 3; ++round) {
      before = allocations;
      for (const Bytes& file : files) {
        const DecodeOptions options;
        const Result<ImageInfo> info = decoder.inspect(file, options);
        if (!info.ok() || !decoder.decode(file, *info, {3, 5, 20, 21}, options, out).ok()) ADD_FAILURE();
      }
    }
    return allocations - before;
  }
};

TEST_F(Allocation, TheCounterSeesBuffersAndCodecs) {
  MemoryLedger::unlimited();  // which is made at its first use
  long before = allocations;
  EXPECT_TRUE(Buffer(MemoryLedger::unlimited()).ensure(1).ok());
  EXPECT_EQ(allocations - before, 1);
  before = allocations;
  EXPECT_FALSE(testing::encode_jpeg({40, 40}, {}).empty());
  EXPECT_GT(allocations - before, 5);
}

TEST_F(Allocation, JpegTakesNothingInTheSteadyState) {
  EXPECT_EQ(steady_state({testing::encode_jpeg({64, 48}, {}), testing::encode_jpeg({30, 200}, {.channels = 1}),
                          testing::encode_jpeg({90, 90}, {.horizontal = 2, .vertical = 2, .restart_interval = 3}),
                          testing::encode_jpeg({77, 33}, {.channels = 4}),
                          testing::encode_jpeg({120, 70}, {.horizontal = 2, .progressive = true})}),
            0);
}

TEST_F(Allocation, PngTakesNothingInTheSteadyState) {
  EXPECT_EQ(steady_state({testing::encode_png({64, 48}), testing::encode_png({30, 200})}), 0);
}

}  // namespace
}  // namespace drapps
