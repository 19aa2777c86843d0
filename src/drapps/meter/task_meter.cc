#include "drapps/meter/task_meter.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <string_view>

#include "drapps/base/system_text.h"
#include "drapps/base/unique_handle.h"

namespace drapps {
namespace {

// To open, read and close a thread's file takes some 5 µs.
constexpr std::uint64_t kBetweenLooksNs = 5'000'000;  // for each thread
constexpr double kNs = 1e-9;

struct CloseFolder {
  void operator()(DIR* folder) const noexcept { closedir(folder); }
};

/// A file of one task, which has ended where there is none.
std::string_view read_once(int folder, const std::string& path, std::span<char> into) noexcept {
  const UniqueHandle file(::openat(folder, path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return {};
  const ssize_t got = ::read(file.get(), into.data(), into.size());
  return {into.data(), got > 0 ? static_cast<std::size_t>(got) : 0};
}

/// "ns on a core, ns that it waited for one, turns".
void add_wait(std::string_view schedstat, int task, TaskRates::Counts& wait) {
  take_word(schedstat);
  if (const auto waited = leading_number(take_word(schedstat))) wait.emplace_back(task, *waited);
}

double tick_seconds() noexcept { return 1.0 / static_cast<double>(std::max(sysconf(_SC_CLK_TCK), 1L)); }

/// Ticks on a core: the 14th and the 15th field, the second of which is a name in parentheses with any letters.
std::optional<std::uint64_t> ticks_of(std::string_view stat) noexcept {
  stat.remove_prefix(std::min(stat.rfind(')'), stat.size()));
  for (int field = 2; field < 14; ++field) take_word(stat);
  const auto user = leading_number(take_word(stat));
  const auto system = leading_number(take_word(stat));
  return user && system ? std::optional(*user + *system) : std::nullopt;
}

}  // namespace

Reading TaskRates::read(Counts counts, std::uint64_t now_ns) {
  std::sort(counts.begin(), counts.end());
  const Counts before = std::exchange(before_, std::move(counts));
  const std::uint64_t before_ns = std::exchange(before_ns_, now_ns);
  if (now_ns <= before_ns) return {};
  std::uint64_t grown = 0;
  bool any = false;
  auto old = before.begin();
  for (const auto& [task, count] : before_) {
    while (old != before.end() && old->first < task) ++old;
    // Where the counter went back, the task's number was given to another task.
    const bool seen = old != before.end() && old->first == task && old->second <= count;
    if (!seen && (unseen_ == New::kNothing || before.empty())) continue;
    any = true;
    grown += count - (seen ? old->second : 0);
  }
  if (!any) return {};
  return reading(scale_ * static_cast<double>(grown) / (kNs * static_cast<double>(now_ns - before_ns)), now_ns);
}

TaskMeter::TaskMeter(std::string root)
    : root_(std::move(root)),
      own_(root_ + "/proc/self/stat"),
      threads_cpu_(tick_seconds()),
      threads_wait_(kNs, TaskRates::New::kFromZero),
      processes_cpu_(tick_seconds(), TaskRates::New::kNothing),
      processes_wait_(kNs, TaskRates::New::kNothing) {}

TaskReadings TaskMeter::read(std::uint64_t now_ns, std::span<const std::int32_t> processes) {
  if (now_ns >= look_again_ns_) look_at_threads(now_ns);
  TaskRates::Counts ticks, wait;
  std::array<char, 1024> text;
  for (const std::int32_t pid : processes) {
    const std::string folder = root_ + "/proc/" + std::to_string(pid);
    if (const auto used = ticks_of(read_once(AT_FDCWD, folder + "/stat", text))) ticks.emplace_back(pid, *used);
    add_wait(read_once(AT_FDCWD, folder + "/schedstat", text), pid, wait);
  }
  seen_.threads_cpu = threads_cpu_.read(ticks_of(own_.read(now_ns).value_or("")), now_ns);
  seen_.processes_cpu = processes_cpu_.read(std::move(ticks), now_ns);
  seen_.processes_wait = processes_wait_.read(std::move(wait), now_ns);
  return seen_;
}

void TaskMeter::look_at_threads(std::uint64_t now_ns) {
  seen_.threads_count = seen_.threads_wait = {};
  const std::unique_ptr<DIR, CloseFolder> folder(opendir((root_ + "/proc/self/task").c_str()));
  if (folder == nullptr) {
    look_again_ns_ = now_ns + kTryAgainNs;
    return;
  }
  TaskRates::Counts wait;
  std::array<char, 128> text;
  std::uint64_t threads = 0;
  while (const dirent* const entry = readdir(folder.get())) {
    const auto thread = leading_number(entry->d_name);
    if (!thread) continue;
    ++threads;
    const std::string file = std::string(entry->d_name) + "/schedstat";
    add_wait(read_once(dirfd(folder.get()), file, text), static_cast<int>(*thread), wait);
  }
  look_again_ns_ = now_ns + threads * kBetweenLooksNs;
  if (threads > 0) seen_.threads_count = reading(static_cast<double>(threads), now_ns);
  seen_.threads_wait = threads_wait_.read(std::move(wait), now_ns);
}

}  // namespace drapps
