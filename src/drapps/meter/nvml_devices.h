// Which GPUs of the machine are this process's.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "drapps/meter/nvml.h"

namespace drapps {

/// The variables that say which GPUs a process sees.
struct GpuEnvironment {
  std::optional<std::string> visible_devices;  // CUDA_VISIBLE_DEVICES
  std::optional<std::string> device_order;     // CUDA_DEVICE_ORDER

  /// Of this process, now. While it looks, no other thread may set a variable.
  static GpuEnvironment now();
};

struct GpuDevice {
  NvmlDevice device = nullptr;  // what CUDA sees: a GPU, or the instance of one that is split (MIG)
  NvmlDevice whole =
      nullptr;  // the GPU that it is or belongs to, whose clocks and energy it has no share of its own of
};

/// The devices that CUDA_VISIBLE_DEVICES leaves, in its order; all of them where it is not set. As CUDA has it, an
/// entry is an index, the start of a UUID ("GPU-8932f937") or an instance ("MIG-…"), and the first that names no device
/// ends the list. Of a GPU that is split, and named without an instance, CUDA takes the first instance.
///
/// NVML counts the GPUs by their place on the bus; CUDA does so with CUDA_DEVICE_ORDER=PCI_BUS_ID, else it puts the
/// fastest first. So where models differ and the order is not set, nobody can tell here which GPU an index means, and
/// the list is empty.
std::vector<GpuDevice> visible_gpus(const Nvml& nvml, const GpuEnvironment& environment);

}  // namespace drapps
