#include "drapps/storage/emulation.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "drapps/base/clock.h"
#include "drapps/base/exact_math.h"
#include "drapps/base/philox.h"

namespace drapps {
namespace {

constexpr std::uint64_t kMagic = 0x6472'6170'7073'0e01;

std::uint64_t ns(double seconds) noexcept { return static_cast<std::uint64_t>(std::min(seconds, 1e9) * 1e9); }

Status check_number(double value, const char* name, std::size_t change) {
  if (std::isfinite(value) && value >= 0) return ok_status();
  return invalid("the storage's " + std::string(name) + ", in entry " + std::to_string(change) +
                 " of its schedule, is no number from 0");
}

}  // namespace

Status EmulationSpec::check() const {
  if (schedule.empty() || schedule.front().at != 0) return invalid("the storage's schedule does not begin at 0 s");
  for (std::size_t i = 0; i < schedule.size(); ++i) {
    const auto& [at, now] = schedule[i];
    DRAPPS_RETURN_IF_ERROR(check_number(at, "time", i));
    DRAPPS_RETURN_IF_ERROR(check_number(now.bandwidth, "bandwidth", i));
    DRAPPS_RETURN_IF_ERROR(check_number(now.connection_bandwidth, "connection_bandwidth", i));
    DRAPPS_RETURN_IF_ERROR(check_number(now.latency, "latency", i));
    DRAPPS_RETURN_IF_ERROR(check_number(now.latency_spread, "latency_spread", i));
    DRAPPS_RETURN_IF_ERROR(check_number(now.requests_per_second, "requests_per_second", i));
    if (i > 0 && at <= schedule[i - 1].at) {
      return invalid("the storage's schedule is not in the order of time at " + std::to_string(at) + " s");
    }
  }
  DRAPPS_RETURN_IF_ERROR(check_number(burst, "burst", 0));
  if (!std::isfinite(period) || period < 0 || (period > 0 && period <= schedule.back().at)) {
    return invalid("the storage's period ends before its schedule; make it longer than " +
                   std::to_string(schedule.back().at) + " s, or 0");
  }
  const bool stalls =
      std::ranges::all_of(schedule, [](const ConditionChange& change) { return change.conditions.stalls; });
  if (stalls || (period == 0 && schedule.back().conditions.stalls)) {
    return invalid("the storage's schedule ends in a stall, behind which no read would end");
  }
  return ok_status();
}

Result<Emulation> Emulation::make(EmulationSpec spec) {
  DRAPPS_RETURN_IF_ERROR(spec.check());
  auto file = SharedFile::make("drapps-storage");
  if (!file.ok()) return std::move(file).error();
  DRAPPS_RETURN_IF_ERROR(file->grow(sizeof(SharedEmulation)));
  auto mapping = file->map(0, sizeof(SharedEmulation));
  if (!mapping.ok()) return std::move(mapping).error();
  Emulation emulation(std::move(spec), *std::move(file), *std::move(mapping));
  emulation.shared().begun_ns = monotonic_ns();
  emulation.shared().magic = kMagic;
  return emulation;
}

Result<Emulation> Emulation::attach(EmulationSpec spec, int fd) {
  DRAPPS_RETURN_IF_ERROR(spec.check());
  auto file = SharedFile::attach(fd);
  if (file.ok() && file->bytes() == sizeof(SharedEmulation)) {
    auto mapping = file->map(0, sizeof(SharedEmulation));
    if (!mapping.ok()) return std::move(mapping).error();
    Emulation attached(std::move(spec), *std::move(file), *std::move(mapping));
    if (attached.shared().magic == kMagic) return attached;
  }
  return invalid("descriptor " + std::to_string(fd) + " refers to no emulated storage");
}

/// Which entry of the schedule holds, and until when.
std::size_t Emulation::place_at(std::uint64_t now_ns, std::uint64_t& next_ns) const noexcept {
  const std::uint64_t since = now_ns - std::min(now_ns, shared().begun_ns);
  const std::uint64_t period = ns(spec_.period);
  const std::uint64_t within = period == 0 ? since : since % period;
  const auto behind =
      std::ranges::upper_bound(spec_.schedule, within, {}, [](const auto& change) { return ns(change.at); });
  if (behind != spec_.schedule.end()) {
    next_ns = now_ns - within + ns(behind->at);
  } else {
    next_ns = period == 0 ? kForever : now_ns - within + period;
  }
  return static_cast<std::size_t>(behind - spec_.schedule.begin()) - 1;
}

const EmulatedConditions& Emulation::conditions(std::uint64_t now_ns) const noexcept {
  std::uint64_t next = 0;
  return spec_.schedule[place_at(now_ns, next)].conditions;
}

bool Emulation::admits(std::uint64_t now_ns) noexcept {
  const EmulatedConditions& now = conditions(now_ns);
  if (now.refuses) return false;
  if (now.requests_per_second == 0) return true;
  const std::uint64_t each = ns(1 / now.requests_per_second);
  return shared().requests.take(each, now_ns, std::max(each, burst_ns()));
}

ReadEnd Emulation::end_of(std::uint64_t bytes, std::uint64_t now_ns, std::uint64_t patience_until_ns) noexcept {
  const EmulatedConditions& now = conditions(now_ns);
  const auto size = static_cast<double>(bytes);
  double latency = now.latency;
  if (now.latency > 0 && now.latency_spread > 0) {
    const std::uint64_t number = shared().draws.fetch_add(1, std::memory_order_relaxed);
    const double uniform = (Draws({.seed = spec_.seed, .position = number}, 0).u32() + 0.5) * 0x1p-32;
    latency *= exact::exp(now.latency_spread * exact::normal_quantile(uniform));
  }
  if (now.connection_bandwidth > 0) latency += size / now.connection_bandwidth;
  std::uint64_t end = now_ns + ns(latency);
  if (now.bandwidth > 0) end = std::max(end, shared().bytes.book(ns(size / now.bandwidth), now_ns, burst_ns()));
  const std::uint64_t stalled = end;
  for (std::uint64_t next = 0; spec_.schedule[place_at(end, next)].conditions.stalls;) end = next;
  if (end > stalled && end > patience_until_ns) return {std::max(stalled, patience_until_ns), true};
  return {end};
}

}  // namespace drapps
