#include "drapps/meter/memory_meter.h"

#include <unistd.h>

#include <algorithm>
#include <optional>
#include <string_view>

#include "drapps/base/system_text.h"

namespace drapps {
namespace {

constexpr double kKibibyte = 1024;

double page_bytes() noexcept { return static_cast<double>(std::max(sysconf(_SC_PAGESIZE), 1L)); }

Reading kibibytes(std::optional<std::uint64_t> count, std::uint64_t now_ns) noexcept {
  return count ? reading(kKibibyte * static_cast<double>(*count), now_ns) : Reading{};
}

}  // namespace

MemoryMeter::MemoryMeter(const std::string& root)
    : meminfo_(root + "/proc/meminfo"),
      vmstat_(root + "/proc/vmstat"),
      swap_in_(page_bytes()),
      swap_out_(page_bytes()) {}

MemoryReadings MemoryMeter::read(std::uint64_t now_ns) {
  MemoryReadings seen;
  const std::string_view text = meminfo_.read(now_ns).value_or("");
  seen.total = kibibytes(number_field(text, "MemTotal"), now_ns);
  seen.available = kibibytes(number_field(text, "MemAvailable"), now_ns);
  // Files in memory alone count as cached too, but cannot go.
  std::optional<std::uint64_t> cached = number_field(text, "Cached");
  if (cached) *cached -= std::min(*cached, number_field(text, "Shmem").value_or(0));
  seen.cached = kibibytes(cached, now_ns);
  const std::string_view counters = vmstat_.read(now_ns).value_or("");
  seen.swap_in = swap_in_.read(number_field(counters, "pswpin"), now_ns);
  seen.swap_out = swap_out_.read(number_field(counters, "pswpout"), now_ns);
  return seen;
}

}  // namespace drapps
