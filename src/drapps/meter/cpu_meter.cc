#include "drapps/meter/cpu_meter.h"

#include <unistd.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "drapps/base/machine.h"
#include "drapps/base/system_text.h"
#include "drapps/meter/summary.h"

namespace drapps {
namespace {

constexpr std::uint64_t kMaskNs = 10'000'000'000;  // how long the scheduler's mask is believed

/// Fields of a line of /proc/stat behind its name.
enum : std::uint8_t { kUser, kNice, kSystem, kIdle, kIowait, kIrq, kSoftirq, kSteal, kTicks };

Reading at_most_one(Reading share) noexcept {
  share.value = std::min(share.value, 1.0);
  return share;
}

}  // namespace

CpuMeter::CpuMeter(std::string root)
    : root_(std::move(root)),
      stat_(root_ + "/proc/stat"),
      tick_seconds_(1.0 / static_cast<double>(std::max(sysconf(_SC_CLK_TCK), 1L))) {}

CpuReadings CpuMeter::read(std::uint64_t now_ns) {
  cores_.clear();
  const auto text = stat_.read(now_ns);
  if (!text) {
    rates_.clear();
    return {};
  }
  if (now_ns >= look_again_ns_) {
    allowed_ = scheduler_affinity({.root = root_}, MaskOf::kProcess);
    look_again_ns_ = now_ns + kMaskNs;
  }
  std::map<int, CpuRates> before = std::exchange(rates_, {});
  Summary use, iowait, steal, machine;
  for (std::string_view rest = *text; rest.starts_with("cpu");) {
    std::string_view line = take_until(rest, '\n');
    line.remove_prefix(3);
    if (line.starts_with(' ')) continue;  // the sum of all
    const auto cpu = leading_number(take_word(line));
    std::array<std::optional<std::uint64_t>, kTicks> ticks;
    for (auto& each : ticks) each = leading_number(take_word(line));
    if (!cpu || !ticks[kSoftirq]) continue;
    const auto number = static_cast<int>(*cpu);
    const Rate rate(tick_seconds_);
    auto known = before.extract(number);
    CpuRates& rates = known ? rates_.insert(std::move(known)).position->second
                            : rates_.emplace(number, CpuRates{rate, rate, rate}).first->second;
    std::uint64_t busy = 0;
    for (const auto kind : {kUser, kNice, kSystem, kIrq, kSoftirq}) busy += ticks[kind].value_or(0);
    const CoreReadings core{.cpu = number,
                            .use = at_most_one(rates.use.read(busy, now_ns)),
                            .iowait = at_most_one(rates.iowait.read(ticks[kIowait], now_ns)),
                            .steal = at_most_one(rates.steal.read(ticks[kSteal], now_ns))};
    machine.add(core.use);
    if (!allowed_.empty() && !allowed_.contains(number)) continue;
    use.add(core.use);
    iowait.add(core.iowait);
    steal.add(core.steal);
    cores_.push_back(core);
  }
  return {.use_mean = use.mean(now_ns),
          .use_max = use.max(now_ns),
          .iowait_mean = iowait.mean(now_ns),
          .iowait_max = iowait.max(now_ns),
          .steal_mean = steal.mean(now_ns),
          .steal_max = steal.max(now_ns),
          .machine_use = machine.mean(now_ns)};
}

}  // namespace drapps
