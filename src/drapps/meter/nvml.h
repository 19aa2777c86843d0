// The management library of NVIDIA's driver (NVML), loaded while the process runs, as far as the meter of GPUs needs
// it.
//
// It comes with the driver and may be absent; to build takes neither it nor its headers. The functions, structs and
// numbers in nvml.cc are its public ABI (NVML API Reference Guide, R450 to R590). A function that changes gets a new
// name there (_v2, _v3), under which it is asked for here; what a driver lacks gives kFunctionNotFound. The library may
// be called by several threads at once, and so may this class. It makes no context of CUDA on a device.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

namespace drapps {

inline constexpr const char* kNvmlLibrary = "libnvidia-ml.so.1";

/// nvmlReturn_t: those that somebody here tells apart; others come as their number.
enum class NvmlResult : int {
  kSuccess = 0,
  kNotSupported = 3,  // by this device, or in the mode that it is in
  kNoPermission = 4,
  kFunctionNotFound = 13,
  kGpuIsLost = 15,  // it has left the bus, and comes back with the next start of the machine at the earliest
};

/// nvmlDevice_t: a GPU, or an instance of a GPU that is split (MIG). The library's, until it is unloaded.
using NvmlDevice = struct NvmlDeviceHandle*;

enum class NvmlClock : int { kSm = 1, kMemory = 2 };                 // nvmlClockType_t
enum class NvmlDirection : unsigned { kToHost = 0, kFromHost = 1 };  // nvmlPcieUtilCounter_t: sent, received

struct NvmlMemory {
  std::uint64_t total = 0;  // bytes
  std::uint64_t used = 0;   // bytes; without what the driver reserves, where it tells the two apart
};

/// Reasons for which clocks are lower than they could be: bits of throttle_reasons().
inline constexpr std::uint64_t kNvmlPowerCap = 0x4;
inline constexpr std::uint64_t kNvmlHardwareSlowdown = 0x8;  // heat or power: clocks are halved, or less
inline constexpr std::uint64_t kNvmlThermalSlowdown = 0x20;
inline constexpr std::uint64_t kNvmlHardwareThermalSlowdown = 0x40;
inline constexpr std::uint64_t kNvmlPowerBrake = 0x80;

class Nvml {
 public:
  /// Loads the library and starts it, which takes up to seconds where the driver has to wake the devices.
  /// @param library  what dlopen() takes: a name or a path.
  /// @return nothing where there is no library, or no driver to it.
  static std::unique_ptr<const Nvml> load(const char* library = kNvmlLibrary);
  ~Nvml();
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;

  /// GPUs of the machine, or of this container. They are numbered in the order of their places on the bus.
  unsigned device_count() const;
  /// Nothing where the device does not answer.
  NvmlDevice device(unsigned index) const;
  NvmlDevice device_by_uuid(const std::string& uuid) const;
  /// The first instance of a GPU that is split; nothing of one that is not, or has none.
  NvmlDevice first_instance(NvmlDevice gpu) const;
  /// The GPU that an instance belongs to; any other device is its own.
  NvmlDevice whole(NvmlDevice device) const;
  std::string name(NvmlDevice device) const;  // of the model; "" where it is not told
  std::string uuid(NvmlDevice device) const;  // "GPU-…" or "MIG-…"; "" where it is not told

  /// Percent of the time of the driver's last period (1/6 to 1 s) in which a kernel was running.
  NvmlResult use(NvmlDevice device, unsigned& percent) const;
  NvmlResult memory(NvmlDevice device, NvmlMemory& memory) const;
  NvmlResult clock(NvmlDevice device, NvmlClock clock, unsigned& mhz) const;
  NvmlResult power(NvmlDevice device, unsigned& milliwatts) const;
  /// Energy that was used since the driver was loaded.
  NvmlResult energy(NvmlDevice device, std::uint64_t& millijoules) const;
  NvmlResult throttle_reasons(NvmlDevice device, std::uint64_t& bits) const;
  /// Counts for 20 ms, for which the caller is blocked. In KiB per second.
  NvmlResult pcie(NvmlDevice device, NvmlDirection direction, unsigned& kibibytes_per_second) const;

 private:
  struct Functions;
  Nvml(void* library, const Functions& functions);

  void* library_;
  std::unique_ptr<const Functions> functions_;
};

}  // namespace drapps
