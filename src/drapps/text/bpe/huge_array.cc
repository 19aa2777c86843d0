#include "drapps/text/bpe/huge_array.h"

#include <sys/mman.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>

namespace drapps::text {
namespace {

constexpr std::size_t kHugePage = std::size_t{2} << 20;
constexpr std::size_t kLine = 64;

std::size_t whole(std::size_t bytes, std::size_t unit) noexcept { return (bytes + unit - 1) / unit * unit; }

}  // namespace

std::byte* take_huge(std::size_t bytes) {
  if (bytes < kHugePage) {
    void* const memory = std::aligned_alloc(kLine, whole(bytes, kLine));
    if (memory == nullptr) throw std::bad_alloc();
    return static_cast<std::byte*>(std::memset(memory, 0, bytes));
  }
  const std::size_t size = whole(bytes, kHugePage);
  void* const mapped = mmap(nullptr, size + kHugePage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) throw std::bad_alloc();
  auto* const from = static_cast<std::byte*>(mapped);
  const std::size_t before =
      whole(reinterpret_cast<std::uintptr_t>(from), kHugePage) - reinterpret_cast<std::uintptr_t>(from);
  std::byte* const memory = from + before;
  if (before > 0) munmap(from, before);
  munmap(memory + size, kHugePage - before);
  madvise(memory, size, MADV_HUGEPAGE);
  return memory;
}

void free_huge(std::byte* memory, std::size_t bytes) noexcept {
  bytes < kHugePage ? std::free(memory) : static_cast<void>(munmap(memory, whole(bytes, kHugePage)));
}

}  // namespace drapps::text
