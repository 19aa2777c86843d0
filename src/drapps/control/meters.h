// All meters of this process, read for every loader of it together.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "drapps/control/data_files.h"
#include "drapps/control/slow_meters.h"
#include "drapps/meter/machine_readings.h"

namespace drapps {

/// Every member may be called from any thread, and waits for nothing but files of /proc, /sys and cgroups.
class Meters {
 public:
  /// Of this process (process_local.h). It starts nothing, and opens nothing, before the first read().
  static Meters& of_process();

  /// @param root  as meters have it.
  /// @param between_ns  readings that are as old or younger are given again.
  explicit Meters(std::string root = "", GpuMeter::GpuSource gpus = {}, std::uint64_t between_ns = kBetweenNs);
  ~Meters();

  /// Rates are of the time since the readings before. What may block is read by another thread, once a second: its
  /// readings are those that it made last.
  /// @param who  whose worker processes these are, from now on until leave().
  MachineReadings read(std::uint64_t now_ns, const void* who, std::span<const std::int32_t> processes);
  MachineReadings read(std::uint64_t now_ns) { return read(now_ns, nullptr, {}); }

  /// Data are read from these files as long as they live. Null: nothing.
  void add(const std::shared_ptr<const DataFiles>& files);
  void leave(const void* who) noexcept;

  /// {"readings": {name: {"value", "unit", "source", "age_s"}}, "cores": [{"cpu", "use", "iowait", "steal"}],
  ///  "gpus": [{…}], "disks": [{"name", "data", "read", "written", "busy", "queue"}],
  ///  "interfaces": [{"name", "received", "sent", "errors", "drops"}]}
  /// Values, and all in the lists, are null where they are not valid; then there is no age.
  nlohmann::json to_json(std::uint64_t now_ns);

 private:
  // Decisions of one loader are half a second apart, the first up to a tenth less from the beginning of its pass.
  static constexpr std::uint64_t kBetweenNs = 300'000'000;
  struct Machine;

  void read_due(std::uint64_t now_ns);
  void look_at_data();

  const std::string root_;
  const std::uint64_t between_ns_;
  std::mutex mutex_;                  // guards all below
  std::unique_ptr<Machine> machine_;  // from the first read() on
  SlowMeters slow_meters_;
  std::map<const void*, std::vector<std::int32_t>> processes_;
  std::vector<std::weak_ptr<const DataFiles>> files_;
  bool new_files_ = false;
  MachineReadings latest_{};
  SlowReadings slow_{};
  std::optional<std::uint64_t> read_ns_;
};

}  // namespace drapps
