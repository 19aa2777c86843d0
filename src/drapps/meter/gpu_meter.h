// The GPUs that this process may use: how busy, how full, how fast they are, and what power they take.
//
//   GpuMeter meter;  // may take seconds
//   const GpuSummary<GpuReadings> seen = meter.read(monotonic_ns());
//   for (const GpuReadings& each : meter.devices()) show(each);
//
// All of it is about the device, whoever uses it: other processes on it are counted too. What belongs to a whole GPU
// (clocks, power, throttling, PCIe) is told as such for an instance of one that is split; its use is not told there.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "drapps/meter/nvml_devices.h"
#include "drapps/meter/rate.h"
#include "drapps/meter/reading.h"

namespace drapps {

struct GpuReadings {
  Reading use;                    // share of the driver's last period in which a kernel was running
  Reading memory_used;            // bytes
  Reading memory_total;           // bytes
  Reading sm_clock;               // MHz
  Reading memory_clock;           // MHz
  Reading power;                  // W, as the driver has it: of this moment, or the mean of a second
  Reading energy_rate;            // W since the call before, from the counter of energy
  Reading throttled_by_power;     // 1 where clocks are held down by a limit of power, else 0
  Reading throttled_by_heat;      // 1 where clocks are held down by heat, else 0
  Reading throttled_by_hardware;  // 1 where the hardware has cut clocks to a half or less, for power or heat
};

struct GpuLinkReadings {
  Reading from_host;  // bytes/s over PCIe
  Reading to_host;
};

/// Mean and maximum over the devices of which there is a valid reading.
template <class Readings>
struct GpuSummary {
  Readings mean;  // of a 0 or 1: the share of devices
  Readings max;
};

/// What describes the members of GpuReadings and GpuLinkReadings, and of their summaries: all of the mean, then all of
/// the maximum.
extern const std::span<const ReadingInfo> kGpuInfo;
extern const std::span<const ReadingInfo> kGpuSummaryInfo;
extern const std::span<const ReadingInfo> kGpuLinkInfo;
extern const std::span<const ReadingInfo> kGpuLinkSummaryInfo;

class GpuMeter {
 public:
  struct GpuSource {
    const char* library = kNvmlLibrary;
    GpuEnvironment environment = GpuEnvironment::now();  // of the thread that makes this, whoever reads the meter
  };

  /// Loads the library, which takes up to seconds where the driver has to wake the devices: on a thread that may wait.
  /// The devices are those of this moment; one that is lost later is left out from then on.
  explicit GpuMeter(const GpuSource& source);
  GpuMeter() : GpuMeter(GpuSource{}) {}
  ~GpuMeter();

  /// Asks the driver seven times for each device.
  GpuSummary<GpuReadings> read(std::uint64_t now_ns);
  /// Blocks for 40 ms for each device, in which the driver counts. Another thread may call read() meanwhile.
  GpuSummary<GpuLinkReadings> read_slow(std::uint64_t now_ns);

  /// Each device as of the last read(), in CUDA's order. They stay until the next.
  std::span<const GpuReadings> devices() const noexcept { return devices_; }
  /// Each device as of the last read_slow().
  std::span<const GpuLinkReadings> links() const noexcept { return links_; }

 private:
  struct GpuAsked;
  std::unique_ptr<const Nvml> nvml_;
  std::vector<GpuDevice> gpus_;
  std::vector<GpuAsked> asked_;       // by read()
  std::vector<GpuAsked> asked_slow_;  // by read_slow()
  std::vector<Rate> energy_;
  std::vector<GpuReadings> devices_;
  std::vector<GpuLinkReadings> links_;
};

}  // namespace drapps
