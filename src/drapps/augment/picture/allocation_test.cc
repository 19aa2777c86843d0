// Once its memory has grown, an op allocates nothing.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <new>

#include "drapps/augment/picture/testing.h"

namespace {

std::atomic<std::size_t> allocations{0};

void* counted(std::size_t bytes, std::size_t alignment) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  return std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
}

}  // namespace

// Not inlined, because the compiler would then see free() given what it takes for memory of the standard new.
[[gnu::noinline]] void* operator new(std::size_t bytes) {
  void* memory = counted(bytes, 16);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
[[gnu::noinline]] void* operator new(std::size_t bytes, std::align_val_t alignment) {
  void* memory = counted(bytes, static_cast<std::size_t>(alignment));
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
[[gnu::noinline]] void* operator new(std::size_t bytes, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  return counted(bytes, static_cast<std::size_t>(alignment));
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }

namespace drapps {
namespace {

TEST(AllOps, AllocateNothingOnceTheirMemoryHasGrown) {
  for (const Op& op : testing::all_ops()) {
    Scratch scratch(MemoryLedger::unlimited());
    auto original = testing::make_sample(1, 3, {61, 83});
    Picture picture = original->picture;
    picture.erasures.reserve(4);
    const auto run_epoch = [&] {
      for (std::uint64_t position = 0; position < 60; ++position) {
        picture.image = original->picture.image;
        picture.mask = original->picture.mask;
        picture.boxes = original->picture.boxes;
        picture.box_rows = original->picture.box_rows;
        picture.extent = original->picture.extent;
        picture.window = original->picture.window;
        picture.erasures.clear();
        const Draws draws({.seed = 1, .position = position}, 1);
        (void)region(op, picture.extent, draws);
        OpContext ctx{draws, scratch};
        ASSERT_TRUE(run(op, picture, ctx).ok());
      }
    };
    run_epoch();
    const std::size_t before = allocations.load();
    run_epoch();
    EXPECT_EQ(allocations.load() - before, 0u) << tag_of(op);
  }
  const std::size_t before = allocations.load();
  ::operator delete(::operator new(1));
  EXPECT_EQ(allocations.load() - before, 1u) << "nothing was counted";
}

}  // namespace
}  // namespace drapps
