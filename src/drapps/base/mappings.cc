#include "drapps/base/mappings.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <string_view>

#include "drapps/base/system_text.h"
#include "drapps/base/unique_handle.h"

namespace drapps {
namespace {

constexpr std::uint64_t kFew = 16;  // mappings that a call may need beside what it asks for

/// Calls `look` with all of a file, part by part.
template <class Look>
void read_parts(const char* root, const char* name, const Look& look) noexcept {
  std::array<char, 256> path;
  if (std::snprintf(path.data(), path.size(), "%s%s", root, name) >= static_cast<int>(path.size())) return;
  const UniqueHandle file(::open(path.data(), O_RDONLY | O_CLOEXEC));
  if (!file) return;
  std::array<char, 4096> part;
  for (ssize_t got = 0; (got = ::read(file.get(), part.data(), part.size())) > 0;) {
    look(std::string_view(part.data(), static_cast<std::size_t>(got)));
  }
}

}  // namespace

const char* more_address_space(const char* root) noexcept {
  std::uint64_t mappings = kFew, most = 0;
  read_parts(root, "/proc/sys/vm/max_map_count",
             [&](std::string_view text) { most = leading_number(text).value_or(most); });
  read_parts(root, "/proc/self/maps", [&](std::string_view text) {
    mappings += static_cast<std::uint64_t>(std::count(text.begin(), text.end(), '\n'));
  });
  if (most > 0 && mappings >= most) {
    return "raise the limit on mappings (sysctl vm.max_map_count), or keep fewer batches";
  }
  return "raise the limit on address space (ulimit -v), or use less";
}

}  // namespace drapps
