#include "drapps/base/process_name.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>

#include "drapps/base/process_local.h"
#include "drapps/base/unique_handle.h"

namespace drapps {
namespace {

/// What /proc/PID/stat says (proc_pid_stat(5)).
struct ProcessStat {
  char state;
  std::uint64_t threads;
  std::uint64_t start;
};

/// The field of that number, behind the name of the process; null where there are fewer.
const char* field_at(const char* state, int number) {
  for (int at = 3; at < number && state != nullptr; ++at) {
    state = std::strchr(state, ' ');
    if (state != nullptr) ++state;
  }
  return state;
}

std::optional<ProcessStat> read_stat(pid_t pid) {
  const UniqueHandle file(open(("/proc/" + std::to_string(pid) + "/stat").c_str(), O_RDONLY | O_CLOEXEC));
  std::array<char, 1024> text{};
  if (!file || read(file.get(), text.data(), text.size() - 1) <= 0) return std::nullopt;
  // pid (name) state …: the name may hold anything, so the fields are counted from the last parenthesis.
  const char* end = std::strrchr(text.data(), ')');
  if (end == nullptr || std::strlen(end) < 3) return std::nullopt;
  const char* threads = field_at(end + 2, 20);
  const char* start = field_at(end + 2, 22);
  if (start == nullptr) return std::nullopt;
  return ProcessStat{
      .state = end[2], .threads = std::strtoull(threads, nullptr, 10), .start = std::strtoull(start, nullptr, 10)};
}

bool over(const ProcessStat& stat) { return stat.state == 'Z' || stat.state == 'X'; }

}  // namespace

std::uint64_t process_start_time(std::int32_t pid) {
  const std::optional<ProcessStat> stat = read_stat(pid);
  return !stat || over(*stat) ? 0 : stat->start;
}

ProcessName ProcessName::own() {
  auto& start = process_local<std::atomic<std::uint64_t>>();
  const pid_t pid = getpid();
  if (start.load(std::memory_order_relaxed) == 0) {
    start.store(process_start_time(pid) & kStartMask, std::memory_order_relaxed);
  }
  return {.pid = pid, .start = start.load(std::memory_order_relaxed)};
}

bool ProcessName::has_ended() const {
  if (kill(pid, 0) != 0 && errno == ESRCH) return true;
  const std::optional<ProcessStat> stat = read_stat(pid);
  if (!stat) return false;
  return (stat->start & kStartMask) != start || (over(*stat) && stat->threads <= 1);
}

bool ProcessName::is_stopped() const {
  const std::optional<ProcessStat> stat = read_stat(pid);
  return stat && (stat->start & kStartMask) == start && (stat->state == 'T' || stat->state == 't');
}

}  // namespace drapps
