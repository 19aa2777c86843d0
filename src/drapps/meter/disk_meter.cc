#include "drapps/meter/disk_meter.h"

#include <unistd.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "drapps/base/mount_info.h"
#include "drapps/base/system_text.h"
#include "drapps/meter/summary.h"

namespace drapps {
namespace {

/// Fields of a line of /proc/diskstats behind the name of the device.
enum : std::uint8_t {
  kReads,
  kReadsMerged,
  kSectorsRead,
  kReadingMs,
  kWrites,
  kWritesMerged,
  kSectorsWritten,
  kWritingMs,
  kInFlight,
  kBusyMs,
  kWeightedMs,
  kCounters
};

}  // namespace

DiskMeter::DiskMeter(std::string root) : root_(std::move(root)), stats_(root_ + "/proc/diskstats") {}

void DiskMeter::set_data(std::span<const std::string> paths) {
  data_.clear();
  SystemFile mounts(root_ + "/proc/self/mountinfo");
  const std::vector<MountEntry> entries = parse_mount_info(mounts.read(0).value_or(""));
  for (const std::string& path : paths) {
    if (const MountEntry* const mount = mount_of(entries, path)) data_.insert(mount->number);
  }
}

bool DiskMeter::is_whole(std::string_view name) const {
  for (const std::string_view kind : {"loop", "ram", "zram", "dm-", "md"}) {
    if (name.starts_with(kind)) return false;
  }
  std::string folder(name);
  std::replace(folder.begin(), folder.end(), '/', '!');
  return ::access((root_ + "/sys/block/" + folder).c_str(), F_OK) == 0;
}

DiskReadings DiskMeter::read(std::uint64_t now_ns) {
  devices_.clear();
  const auto text = stats_.read(now_ns);
  std::map<std::string, DeviceRates> before = std::exchange(known_, {});
  if (!text) return {};
  Summary read, written, busy, queue, reads, in_reads, all_read, all_written, all_busy;
  for (std::string_view rest = *text; !rest.empty();) {
    std::string_view line = take_until(rest, '\n');
    const std::string_view major = take_word(line);
    const std::string_view minor = take_word(line);
    std::string name(take_word(line));
    std::array<std::optional<std::uint64_t>, kCounters> count;
    if (name.empty()) continue;
    for (auto& each : count) each = leading_number(take_word(line));
    auto known = before.extract(name);
    DeviceRates& device = known ? known_.insert(std::move(known)).position->second
                                : known_.emplace(name, DeviceRates{.whole = is_whole(name)}).first->second;
    const bool data = data_.contains(std::string(major) + ":" + std::string(minor));
    if (!device.whole && !data) continue;
    DeviceReadings now{.name = std::move(name),
                       .data = data,
                       .read = device.read.read(count[kSectorsRead], now_ns),
                       .written = device.written.read(count[kSectorsWritten], now_ns),
                       .busy = device.busy.read(count[kBusyMs], now_ns),
                       .queue = device.queue.read(count[kWeightedMs], now_ns)};
    now.busy.value = std::min(now.busy.value, 1.0);
    if (data) {
      read.add(now.read);
      written.add(now.written);
      busy.add(now.busy);
      queue.add(now.queue);
      reads.add(device.reads.read(count[kReads], now_ns));
      in_reads.add(device.reading.read(count[kReadingMs], now_ns));
    }
    if (device.whole) {
      all_read.add(now.read);
      all_written.add(now.written);
      all_busy.add(now.busy);
    }
    devices_.push_back(std::move(now));
  }
  const Reading rate = reads.sum(now_ns);
  const Reading spent = in_reads.sum(now_ns);
  return {.data_read = read.sum(now_ns),
          .data_written = written.sum(now_ns),
          .data_busy = busy.max(now_ns),
          .data_queue = queue.sum(now_ns),
          .data_read_time = rate.value > 0 && spent.valid ? reading(spent.value / rate.value, now_ns) : Reading{},
          .all_read = all_read.sum(now_ns),
          .all_written = all_written.sum(now_ns),
          .all_busy_max = all_busy.max(now_ns)};
}

}  // namespace drapps
