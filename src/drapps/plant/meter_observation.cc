#include "drapps/plant/meter_observation.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace drapps {
namespace {

constexpr std::uint64_t kStaleReadingNs = 10'000'000'000;
constexpr double kMostWhole = 1e18;

constexpr std::pair<std::string_view, WholeUnit> kWholeUnits[] = {
    {"share", {"ppm", 1e6}},
    {"cores", {"µs/s", 1e6}},
    {"threads", {"threads/1000", 1e3}},
    {"requests", {"requests/1000", 1e3}},
    {"1/s", {"1/1000 s", 1e3}},
    {"s", {"µs", 1e6}},
    {"W", {"mW", 1e3}},
};

}  // namespace

WholeUnit whole_unit(std::string_view unit) noexcept {
  const auto* const conversion = std::ranges::find(kWholeUnits, unit, &std::pair<std::string_view, WholeUnit>::first);
  return conversion != std::end(kWholeUnits) ? conversion->second : WholeUnit{.unit = unit};
}

double MeterObservation::value(std::size_t place) const noexcept {
  return static_cast<double>(values[place]) / whole_unit(machine_info()[place].unit).per_unit;
}

MeterObservation observation_of(const MachineReadings& readings, std::uint64_t now_ns) noexcept {
  MeterObservation seen;
  const auto list = list_of(readings);
  for (std::size_t place = 0; place < list.size(); ++place) {
    const Reading& each = list[place];
    if (!each.valid || (now_ns > each.time_ns && now_ns - each.time_ns > kStaleReadingNs)) continue;
    const double whole = each.value * whole_unit(machine_info()[place].unit).per_unit;
    if (!(whole >= 0)) continue;
    seen.values[place] = static_cast<std::uint64_t>(std::llround(std::min(whole, kMostWhole)));
    seen.valid[place / 64] |= std::uint64_t{1} << place % 64;
  }
  return seen;
}

}  // namespace drapps
