#include "drapps/meter/energy_meter.h"

#include <charconv>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>

namespace drapps {
namespace {

constexpr double kMostWatts = 2000;  // of one counter: more is a counter that began anew before its range was counted

std::optional<std::uint64_t> microjoules(std::optional<std::string_view> text) {
  std::uint64_t count = 0;
  if (!text || std::from_chars(text->data(), text->data() + text->size(), count).ec != std::errc{}) return std::nullopt;
  return count;
}

}  // namespace

EnergyMeter::EnergyMeter(const std::string& root) {
  std::error_code error;
  // Packages and what they are made of lie side by side. What "intel-rapl-mmio:" counts is counted here already.
  for (std::filesystem::directory_iterator entry(root + "/sys/class/powercap", error), end; !error && entry != end;
       entry.increment(error)) {
    if (!entry->path().filename().string().starts_with("intel-rapl:")) continue;
    const std::string folder = entry->path().string();
    SystemFile name_file(folder + "/name");
    const std::string_view name = name_file.read(0).value_or("");
    const bool dram = name.starts_with("dram");
    if (!dram && !name.starts_with("package-")) continue;
    const auto range = microjoules(SystemFile(folder + "/max_energy_range_uj").read(0));
    if (range) zones_.push_back({.dram = dram, .range_uj = *range, .file = SystemFile(folder + "/energy_uj")});
  }
}

std::optional<double> EnergyMeter::Zone::watts(std::uint64_t now_ns) {
  const auto count = microjoules(file.read(now_ns));
  const auto before = std::exchange(before_uj, count);
  const std::uint64_t since_ns = std::exchange(before_ns, now_ns);
  if (!before || !count || now_ns <= since_ns) return std::nullopt;
  if (*before > range_uj || *count > range_uj) return std::nullopt;
  const double us = 1e-3 * static_cast<double>(now_ns - since_ns);
  if (kMostWatts * us >= static_cast<double>(range_uj)) return std::nullopt;
  const std::uint64_t growth = *count >= *before ? *count - *before : range_uj - *before + *count;
  const double watts = static_cast<double>(growth) / us;
  if (watts > kMostWatts) return std::nullopt;
  return watts;
}

EnergyReadings EnergyMeter::read(std::uint64_t now_ns) {
  EnergyReadings readings;
  bool missing[2] = {};
  for (Zone& zone : zones_) {
    const auto watts = zone.watts(now_ns);
    Reading& sum = zone.dram ? readings.dram : readings.packages;
    missing[zone.dram] |= !watts;
    sum = reading(sum.value + watts.value_or(0), now_ns);
  }
  // A sum without one of its parts would look like a saving.
  if (missing[false]) readings.packages = {};
  if (missing[true]) readings.dram = {};
  return readings;
}

}  // namespace drapps
