#include "drapps/control/meters.h"

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <utility>

#include "drapps/base/process_local.h"

namespace drapps {
namespace {

using nlohmann::json;

json value_of(const Reading& reading) { return reading.valid ? json(reading.value) : json(); }

json reading_json(const Reading& reading, const ReadingInfo& info, std::uint64_t now_ns) {
  json report{{"value", value_of(reading)}, {"unit", info.unit}, {"source", info.source}};
  if (reading.valid) report["age_s"] = 1e-9 * static_cast<double>(now_ns - std::min(now_ns, reading.time_ns));
  return report;
}

/// Adds the readings of one GPU or interface, by the names of its meter without what stands before the first dot.
template <class Readings>
void add_readings(json& into, const Readings& readings, std::span<const ReadingInfo> infos) {
  const auto list = list_of(readings);
  for (std::size_t i = 0; i < list.size(); ++i) {
    const std::string_view name = infos[i].name;
    into[std::string(name.substr(name.find('.') + 1))] = value_of(list[i]);
  }
}

}  // namespace

struct Meters::Machine {
  explicit Machine(const std::string& root)
      : cpu(root), tasks(root), cgroup(root), pressure(root), memory(root), disk(root), network(root), energy(root) {}

  CpuMeter cpu;
  TaskMeter tasks;
  CgroupMeter cgroup;
  PressureMeter pressure;
  MemoryMeter memory;
  DiskMeter disk;
  NetworkMeter network;
  EnergyMeter energy;
};

Meters& Meters::of_process() {
  [[maybe_unused]] static const int registered = std::atexit([] { of_process().slow_meters_.end(); });
  return process_local<Meters>();
}

Meters::Meters(std::string root, GpuMeter::GpuSource gpus, std::uint64_t between_ns)
    : root_(std::move(root)), between_ns_(between_ns), slow_meters_(std::move(gpus)) {}
Meters::~Meters() = default;

MachineReadings Meters::read(std::uint64_t now_ns, const void* who, std::span<const std::int32_t> processes) {
  const std::lock_guard lock(mutex_);
  if (!processes.empty()) {
    processes_[who].assign(processes.begin(), processes.end());
  } else {
    processes_.erase(who);
  }
  read_due(now_ns);
  return latest_;
}

void Meters::add(const std::shared_ptr<const DataFiles>& files) {
  if (files == nullptr) return;
  const std::lock_guard lock(mutex_);
  files_.emplace_back(files);
  new_files_ = true;
}

void Meters::leave(const void* who) noexcept {
  const std::lock_guard lock(mutex_);
  processes_.erase(who);
}

void Meters::read_due(std::uint64_t now_ns) {
  if (read_ns_ && now_ns <= *read_ns_ + between_ns_) return;
  read_ns_ = now_ns;
  if (machine_ == nullptr) machine_ = std::make_unique<Machine>(root_);
  look_at_data();
  std::vector<std::int32_t> processes;
  for (const auto& [who, theirs] : processes_) processes.insert(processes.end(), theirs.begin(), theirs.end());
  slow_ = slow_meters_.read();
  latest_ = {.cpu = machine_->cpu.read(now_ns),
             .tasks = machine_->tasks.read(now_ns, processes),
             .cgroup = machine_->cgroup.read(now_ns),
             .pressure = machine_->pressure.read(now_ns),
             .memory = machine_->memory.read(now_ns),
             .disk = machine_->disk.read(now_ns),
             .network = machine_->network.read(now_ns),
             .energy = machine_->energy.read(now_ns),
             .gpu = slow_.gpu,
             .gpu_link = slow_.gpu_link,
             .residency = slow_.residency};
}

void Meters::look_at_data() {
  const std::size_t before = files_.size();
  std::erase_if(files_, [](const auto& files) { return files.expired(); });
  if (!std::exchange(new_files_, false) && files_.size() == before) return;
  std::vector<std::string> places, paths;
  for (const auto& each : files_) {
    const auto files = each.lock();
    if (files == nullptr) continue;
    if (!files->place.empty()) places.push_back(files->place);
    paths.insert(paths.end(), files->paths.begin(), files->paths.end());
  }
  machine_->disk.set_data(places);
  slow_meters_.set_files(std::move(paths));
}

json Meters::to_json(std::uint64_t now_ns) {
  const std::lock_guard lock(mutex_);
  read_due(now_ns);
  json readings = json::object();
  const auto list = list_of(latest_);
  for (std::size_t place = 0; place < list.size(); ++place) {
    const ReadingInfo& info = machine_info()[place];
    readings[std::string(info.name)] = reading_json(list[place], info, now_ns);
  }
  json cores = json::array();
  for (const CoreReadings& core : machine_->cpu.cores()) {
    cores.push_back({{"cpu", core.cpu},
                     {"use", value_of(core.use)},
                     {"iowait", value_of(core.iowait)},
                     {"steal", value_of(core.steal)}});
  }
  json gpus = json::array();
  for (std::size_t i = 0; i < slow_.gpus.size(); ++i) {
    json gpu = json::object();
    add_readings(gpu, slow_.gpus[i], kGpuInfo);
    if (i < slow_.gpu_links.size()) add_readings(gpu, slow_.gpu_links[i], kGpuLinkInfo);
    gpus.push_back(std::move(gpu));
  }
  json disks = json::array();
  for (const DeviceReadings& device : machine_->disk.devices()) {
    disks.push_back({{"name", device.name},
                     {"data", device.data},
                     {"read", value_of(device.read)},
                     {"written", value_of(device.written)},
                     {"busy", value_of(device.busy)},
                     {"queue", value_of(device.queue)}});
  }
  json interfaces = json::array();
  for (const InterfaceReadings& each : machine_->network.interfaces()) {
    json interface{{"name", each.name}};
    add_readings(interface, each.rates, kNetworkInfo);
    interfaces.push_back(std::move(interface));
  }
  return {{"readings", std::move(readings)},
          {"cores", std::move(cores)},
          {"gpus", std::move(gpus)},
          {"disks", std::move(disks)},
          {"interfaces", std::move(interfaces)}};
}

}  // namespace drapps
