#include "drapps/base/heap.h"

#include <cstdlib>
#include <initializer_list>

#ifdef __GLIBC__
#include <malloc.h>
#endif

namespace drapps {

void keep_freed_memory() noexcept {
#ifdef __GLIBC__
  // What a batch of pictures needs. Larger blocks come from the system and go back to it, as ever.
  constexpr int kKept = 64 << 20, kLargest = 32 << 20;
  for (const char* name : {"MALLOC_TRIM_THRESHOLD_", "MALLOC_MMAP_THRESHOLD_", "GLIBC_TUNABLES"}) {
    if (std::getenv(name) != nullptr) return;  // NOLINT(concurrency-mt-unsafe): nothing sets it
  }
  mallopt(M_MMAP_THRESHOLD, kLargest);
  mallopt(M_TRIM_THRESHOLD, kKept);
#endif
}

}  // namespace drapps
