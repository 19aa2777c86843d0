#include "drapps/meter/system_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "drapps/base/unique_handle.h"

namespace drapps {
namespace {

constexpr std::size_t kFirstBytes = 4096;
constexpr std::size_t kMostBytes = 16 << 20;  // /proc/stat of a thousand cores has some 100 KB

}  // namespace

std::optional<std::string_view> SystemFile::read(std::uint64_t now_ns) {
  if (now_ns < try_again_ns_) return std::nullopt;
  const UniqueHandle file(::open(path_.c_str(), O_RDONLY | O_CLOEXEC));
  std::size_t used = 0;
  // Some of these files give a few lines at a time: only nothing is the end.
  while (file && used <= kMostBytes) {
    if (used == text_.size()) text_.resize(text_.empty() ? kFirstBytes : 2 * text_.size());
    const ssize_t got = ::read(file.get(), text_.data() + used, text_.size() - used);
    if (got == 0) return std::string_view(text_.data(), used);
    if (got > 0) used += static_cast<std::size_t>(got);
    if (got < 0 && errno != EINTR) break;
  }
  try_again_ns_ = now_ns + kTryAgainNs;
  return std::nullopt;
}

}  // namespace drapps
