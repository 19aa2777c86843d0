// Block devices: those that the data lie on, and all of the machine, whoever uses them.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "drapps/meter/rate.h"
#include "drapps/meter/reading.h"
#include "drapps/meter/system_file.h"

namespace drapps {

/// Data on a file system without a block device of its own, on a network or in memory, have none of the first five.
struct DiskReadings {
  Reading data_read;       // bytes/s
  Reading data_written;    // bytes/s
  Reading data_busy;       // share of the time in which a request was under way; of several devices the largest
  Reading data_queue;      // requests under way, on average; of all devices together
  Reading data_read_time;  // s from the start of a read to its end, on average; invalid where nothing was read
  Reading all_read;        // bytes/s of all disks; what lies on top of others (loop, md, dm) is not counted again
  Reading all_written;
  Reading all_busy_max;
};

inline constexpr std::array<ReadingInfo, kReadings<DiskReadings>> kDiskInfo{{
    {"disk.data_read", "bytes/s", "/proc/diskstats"},
    {"disk.data_written", "bytes/s", "/proc/diskstats"},
    {"disk.data_busy", "share", "/proc/diskstats"},
    {"disk.data_queue", "requests", "/proc/diskstats"},
    {"disk.data_read_time", "s", "/proc/diskstats"},
    {"disk.all_read", "bytes/s", "/proc/diskstats"},
    {"disk.all_written", "bytes/s", "/proc/diskstats"},
    {"disk.all_busy_max", "share", "/proc/diskstats"},
}};

/// One device or partition.
struct DeviceReadings {
  std::string name;
  bool data = false;  // data lie on it
  Reading read, written, busy, queue;
};

class DiskMeter {
 public:
  explicit DiskMeter(std::string root = "");

  /// The data lie on the mounts of these paths from now on; looks at what is mounted.
  /// @param paths  absolute, without symbolic links.
  void set_data(std::span<const std::string> paths);
  DiskReadings read(std::uint64_t now_ns);

  /// The devices as of the last read(): whole disks, and what data lie on.
  const std::vector<DeviceReadings>& devices() const noexcept { return devices_; }

 private:
  struct DeviceRates {
    bool whole = false;  // a disk of its own, as opposed to a part of one or to what lies on others
    Rate read{512}, written{512};
    Rate busy{1e-3}, queue{1e-3};  // counted in ms
    Rate reads{}, reading{1e-3};
  };
  bool is_whole(std::string_view name) const;

  const std::string root_;
  SystemFile stats_;
  std::set<std::string> data_{};  // "major:minor"
  std::map<std::string, DeviceRates> known_{};
  std::vector<DeviceReadings> devices_{};
};

}  // namespace drapps
