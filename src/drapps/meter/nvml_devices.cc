#include "drapps/meter/nvml_devices.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>

namespace drapps {
namespace {

std::string_view without_spaces(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  return text;
}

std::optional<unsigned> gpu_index(std::string_view entry) {
  unsigned index = 0;
  const auto [end, error] = std::from_chars(entry.data(), entry.data() + entry.size(), index);
  if (error != std::errc{} || end != entry.data() + entry.size()) return std::nullopt;
  return index;
}

/// The one GPU whose UUID starts so.
NvmlDevice gpu_by_uuid(const Nvml& nvml, const std::vector<NvmlDevice>& gpus, std::string_view start) {
  NvmlDevice candidate = nullptr;
  for (NvmlDevice gpu : gpus) {
    if (gpu == nullptr || !nvml.uuid(gpu).starts_with(start)) continue;
    if (candidate != nullptr) return nullptr;
    candidate = gpu;
  }
  return candidate;
}

bool are_of_one_model(const Nvml& nvml, const std::vector<NvmlDevice>& gpus) {
  return std::all_of(gpus.begin(), gpus.end(), [&](NvmlDevice gpu) {
    return gpu != nullptr && gpus[0] != nullptr && nvml.name(gpu) == nvml.name(gpus[0]);
  });
}

void add_gpu(const Nvml& nvml, NvmlDevice device, std::vector<GpuDevice>& devices) {
  if (NvmlDevice const instance = nvml.first_instance(device)) device = instance;
  const auto is_it = [device](const GpuDevice& other) { return other.device == device; };
  if (std::none_of(devices.begin(), devices.end(), is_it)) devices.push_back({device, nvml.whole(device)});
}

}  // namespace

GpuEnvironment GpuEnvironment::now() {
  const auto variable = [](const char* name) {
    const char* const value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): see the header
    return value == nullptr ? std::nullopt : std::optional<std::string>(value);
  };
  return {.visible_devices = variable("CUDA_VISIBLE_DEVICES"), .device_order = variable("CUDA_DEVICE_ORDER")};
}

std::vector<GpuDevice> visible_gpus(const Nvml& nvml, const GpuEnvironment& environment) {
  std::vector<NvmlDevice> gpus(nvml.device_count());  // by NVML's numbers; nullptr for one that does not answer
  for (unsigned index = 0; index < gpus.size(); ++index) gpus[index] = nvml.device(index);

  std::vector<GpuDevice> devices;
  if (!environment.visible_devices) {
    for (NvmlDevice gpu : gpus) {
      if (gpu != nullptr) add_gpu(nvml, gpu, devices);
    }
    return devices;
  }
  const bool by_bus = environment.device_order == "PCI_BUS_ID" || are_of_one_model(nvml, gpus);
  std::string_view rest = *environment.visible_devices;
  while (!rest.empty()) {
    const std::string_view entry = without_spaces(rest.substr(0, rest.find(',')));
    rest.remove_prefix(std::min(rest.find(','), rest.size() - 1) + 1);
    NvmlDevice device = nullptr;
    if (const auto index = gpu_index(entry)) {
      if (!by_bus) return {};
      if (*index < gpus.size()) device = gpus[*index];
    } else if (entry.starts_with("GPU-")) {
      device = gpu_by_uuid(nvml, gpus, entry);
    } else if (entry.starts_with("MIG-")) {
      device = nvml.device_by_uuid(std::string(entry));
    }
    if (device == nullptr) break;
    add_gpu(nvml, device, devices);
  }
  return devices;
}

}  // namespace drapps
