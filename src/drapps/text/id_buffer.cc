#include "drapps/text/id_buffer.h"

#include <sys/mman.h>
#include <unistd.h>

namespace drapps::text {

void populate_pages(std::span<const TokenId> memory) noexcept {
#ifdef MADV_POPULATE_WRITE
  static const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  const auto from = reinterpret_cast<std::uintptr_t>(memory.data());
  const std::uintptr_t first = (from + page - 1) / page * page;
  const std::uintptr_t end = (from + memory.size_bytes()) / page * page;
  if (first < end) madvise(reinterpret_cast<void*>(first), end - first, MADV_POPULATE_WRITE);
#endif
}

}  // namespace drapps::text
