#include "drapps/meter/gpu_meter.h"

#include <algorithm>
#include <array>
#include <bitset>
#include <optional>
#include <string_view>

namespace drapps {
namespace {

struct GpuRow {
  std::string_view name, mean, max, unit, source;
};

constexpr GpuRow kGpuRows[] = {
    {"gpu.use", "gpu.use_mean", "gpu.use_max", "share", "nvmlDeviceGetUtilizationRates"},
    {"gpu.memory_used", "gpu.memory_used_mean", "gpu.memory_used_max", "bytes", "nvmlDeviceGetMemoryInfo"},
    {"gpu.memory_total", "gpu.memory_total_mean", "gpu.memory_total_max", "bytes", "nvmlDeviceGetMemoryInfo"},
    {"gpu.sm_clock", "gpu.sm_clock_mean", "gpu.sm_clock_max", "MHz", "nvmlDeviceGetClockInfo"},
    {"gpu.memory_clock", "gpu.memory_clock_mean", "gpu.memory_clock_max", "MHz", "nvmlDeviceGetClockInfo"},
    {"gpu.power", "gpu.power_mean", "gpu.power_max", "W", "nvmlDeviceGetPowerUsage"},
    {"gpu.energy_rate", "gpu.energy_rate_mean", "gpu.energy_rate_max", "W", "nvmlDeviceGetTotalEnergyConsumption"},
    {"gpu.throttled_by_power", "gpu.throttled_by_power_mean", "gpu.throttled_by_power_max", "share",
     "nvmlDeviceGetCurrentClocksEventReasons"},
    {"gpu.throttled_by_heat", "gpu.throttled_by_heat_mean", "gpu.throttled_by_heat_max", "share",
     "nvmlDeviceGetCurrentClocksEventReasons"},
    {"gpu.throttled_by_hardware", "gpu.throttled_by_hardware_mean", "gpu.throttled_by_hardware_max", "share",
     "nvmlDeviceGetCurrentClocksEventReasons"},
};
static_assert(std::size(kGpuRows) == kReadings<GpuReadings>);

constexpr GpuRow kGpuLinkRows[] = {
    {"gpu.from_host", "gpu.from_host_mean", "gpu.from_host_max", "bytes/s", "nvmlDeviceGetPcieThroughput"},
    {"gpu.to_host", "gpu.to_host_mean", "gpu.to_host_max", "bytes/s", "nvmlDeviceGetPcieThroughput"},
};
static_assert(std::size(kGpuLinkRows) == kReadings<GpuLinkReadings>);

template <std::size_t n>
constexpr std::array<ReadingInfo, n> gpu_infos(const GpuRow (&rows)[n]) {
  std::array<ReadingInfo, n> table;
  for (std::size_t i = 0; i < n; ++i) table[i] = {rows[i].name, rows[i].unit, rows[i].source};
  return table;
}

template <std::size_t n>
constexpr std::array<ReadingInfo, 2 * n> gpu_summary_infos(const GpuRow (&rows)[n]) {
  std::array<ReadingInfo, 2 * n> table;
  for (std::size_t i = 0; i < n; ++i) {
    table[i] = {rows[i].mean, rows[i].unit, rows[i].source};
    table[n + i] = {rows[i].max, rows[i].unit, rows[i].source};
  }
  return table;
}

constexpr auto kGpuInfos = gpu_infos(kGpuRows);
constexpr auto kGpuSummaryInfos = gpu_summary_infos(kGpuRows);
constexpr auto kGpuLinkInfos = gpu_infos(kGpuLinkRows);
constexpr auto kGpuLinkSummaryInfos = gpu_summary_infos(kGpuLinkRows);

template <class Readings>
GpuSummary<Readings> summary_of(const std::vector<Readings>& devices) {
  constexpr std::size_t kCount = kReadings<Readings>;
  std::array<Reading, 2 * kCount> summary{};
  std::array<double, kCount> valid{};
  for (const Readings& device : devices) {
    const auto list = list_of(device);
    for (std::size_t i = 0; i < kCount; ++i) {
      if (!list[i].valid) continue;
      Reading& mean = summary[i];
      Reading& max = summary[kCount + i];
      ++valid[i];
      mean = reading(mean.value + (list[i].value - mean.value) / valid[i], list[i].time_ns);
      max = reading(max.valid ? std::max(max.value, list[i].value) : list[i].value, list[i].time_ns);
    }
  }
  return std::bit_cast<GpuSummary<Readings>>(summary);
}

}  // namespace

const std::span<const ReadingInfo> kGpuInfo = kGpuInfos;
const std::span<const ReadingInfo> kGpuSummaryInfo = kGpuSummaryInfos;
const std::span<const ReadingInfo> kGpuLinkInfo = kGpuLinkInfos;
const std::span<const ReadingInfo> kGpuLinkSummaryInfo = kGpuLinkSummaryInfos;

/// What one device has said to being asked.
struct GpuMeter::GpuAsked {
  bool lost = false;
  std::bitset<16> refused{};  // by kind of question: for good

  /// Whether the device has answered. It is not asked again what it or its driver does not have.
  template <class Question>
  bool ask(std::size_t kind, const Question& question) {
    if (lost || refused[kind]) return false;
    const NvmlResult result = question();
    lost = result == NvmlResult::kGpuIsLost;
    refused[kind] = result == NvmlResult::kNotSupported || result == NvmlResult::kNoPermission ||
                    result == NvmlResult::kFunctionNotFound;
    return result == NvmlResult::kSuccess;
  }
};

GpuMeter::GpuMeter(const GpuSource& source) : nvml_(Nvml::load(source.library)) {
  if (!nvml_) return;
  gpus_ = visible_gpus(*nvml_, source.environment);
  asked_.resize(gpus_.size());
  asked_slow_.resize(gpus_.size());
  energy_.resize(gpus_.size(), Rate(1e-3));  // mJ
  devices_.resize(gpus_.size());
  links_.resize(gpus_.size());
}
GpuMeter::~GpuMeter() = default;

GpuSummary<GpuReadings> GpuMeter::read(std::uint64_t now_ns) {
  for (std::size_t i = 0; i < gpus_.size(); ++i) {
    const auto [device, whole] = gpus_[i];
    GpuAsked& asked = asked_[i];
    GpuReadings& readings = devices_[i];
    readings = {};
    std::size_t kind = 0;
    const auto read_number = [&](Reading& into, double scale, const auto& question) {
      unsigned number = 0;
      if (asked.ask(kind++, [&] { return question(number); })) into = reading(scale * number, now_ns);
    };
    read_number(readings.use, 0.01, [&](unsigned& percent) { return nvml_->use(device, percent); });
    read_number(readings.sm_clock, 1, [&](unsigned& mhz) { return nvml_->clock(whole, NvmlClock::kSm, mhz); });
    read_number(readings.memory_clock, 1, [&](unsigned& mhz) { return nvml_->clock(whole, NvmlClock::kMemory, mhz); });
    read_number(readings.power, 1e-3, [&](unsigned& milliwatts) { return nvml_->power(whole, milliwatts); });
    if (NvmlMemory memory; asked.ask(kind++, [&] { return nvml_->memory(device, memory); })) {
      readings.memory_used = reading(static_cast<double>(memory.used), now_ns);
      readings.memory_total = reading(static_cast<double>(memory.total), now_ns);
    }
    std::uint64_t energy = 0;
    const bool valid = asked.ask(kind++, [&] { return nvml_->energy(whole, energy); });
    readings.energy_rate = energy_[i].read(valid ? std::optional(energy) : std::nullopt, now_ns);
    if (std::uint64_t bits = 0; asked.ask(kind++, [&] { return nvml_->throttle_reasons(whole, bits); })) {
      const auto any_of = [&](std::uint64_t which) { return reading((bits & which) != 0 ? 1 : 0, now_ns); };
      readings.throttled_by_power = any_of(kNvmlPowerCap | kNvmlPowerBrake);
      readings.throttled_by_heat = any_of(kNvmlThermalSlowdown | kNvmlHardwareThermalSlowdown);
      readings.throttled_by_hardware = any_of(kNvmlHardwareSlowdown);
    }
    if (asked.lost) readings = {};
  }
  return summary_of(devices_);
}

GpuSummary<GpuLinkReadings> GpuMeter::read_slow(std::uint64_t now_ns) {
  for (std::size_t i = 0; i < gpus_.size(); ++i) {
    links_[i] = {};
    const auto read_direction = [&](Reading& into, std::size_t kind, NvmlDirection direction) {
      unsigned kibibytes = 0;
      if (asked_slow_[i].ask(kind, [&] { return nvml_->pcie(gpus_[i].whole, direction, kibibytes); })) {
        into = reading(1024.0 * kibibytes, now_ns);
      }
    };
    read_direction(links_[i].from_host, 0, NvmlDirection::kFromHost);
    read_direction(links_[i].to_host, 1, NvmlDirection::kToHost);
  }
  return summary_of(links_);
}

}  // namespace drapps
