// The machine's memory, whoever uses it.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "drapps/meter/rate.h"
#include "drapps/meter/reading.h"
#include "drapps/meter/system_file.h"

namespace drapps {

struct MemoryReadings {
  Reading total;
  Reading available;  // what could be had without swapping, as the kernel estimates it
  Reading cached;     // the page cache: contents of files, which go where memory is needed
  Reading swap_in;    // bytes/s from swap
  Reading swap_out;   // bytes/s to swap
};

inline constexpr std::array<ReadingInfo, kReadings<MemoryReadings>> kMemoryInfo{{
    {"memory.total", "bytes", "/proc/meminfo"},
    {"memory.available", "bytes", "/proc/meminfo"},
    {"memory.cached", "bytes", "/proc/meminfo"},
    {"memory.swap_in", "bytes/s", "/proc/vmstat"},
    {"memory.swap_out", "bytes/s", "/proc/vmstat"},
}};

class MemoryMeter {
 public:
  explicit MemoryMeter(const std::string& root = "");
  MemoryReadings read(std::uint64_t now_ns);

 private:
  SystemFile meminfo_, vmstat_;
  Rate swap_in_, swap_out_;
};

}  // namespace drapps
