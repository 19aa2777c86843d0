// Pressure stall information: for which share of the time tasks stood still for lack of a core, of memory or of I/O.
// Kernels since 4.20 count it, many with a switch at boot that is off.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "drapps/meter/rate.h"
#include "drapps/meter/reading.h"
#include "drapps/meter/system_file.h"

namespace drapps {

/// One file of /proc/pressure, or of a cgroup.
class PressureFile {
 public:
  struct PressureShares {
    Reading some;  // share of the time in which at least one task stood still
    Reading full;  // share of the time in which all tasks that were not idle stood still
  };

  explicit PressureFile(std::string path) : file_(std::move(path)) {}
  PressureShares read(std::uint64_t now_ns);

 private:
  SystemFile file_;
  Rate some_{1e-6}, full_{1e-6};  // counted in µs
};

/// The pressure on all tasks of the machine.
struct PressureReadings {
  Reading cpu;
  Reading memory;
  Reading memory_full;
  Reading io;
  Reading io_full;
};

inline constexpr std::array<ReadingInfo, kReadings<PressureReadings>> kPressureInfo{{
    {"pressure.cpu", "share", "/proc/pressure/cpu"},
    {"pressure.memory", "share", "/proc/pressure/memory"},
    {"pressure.memory_full", "share", "/proc/pressure/memory"},
    {"pressure.io", "share", "/proc/pressure/io"},
    {"pressure.io_full", "share", "/proc/pressure/io"},
}};

class PressureMeter {
 public:
  explicit PressureMeter(const std::string& root = "");
  PressureReadings read(std::uint64_t now_ns);

 private:
  PressureFile cpu_, memory_, io_;
};

}  // namespace drapps
