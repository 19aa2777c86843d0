// Which GPUs of the machine are this process's.
#pragma once

#include <functional>
#include <vector>

#include "drapps/meter/nvml.h"

namespace drapps {

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
/// @param environment  value of an environment variable, or nullptr; the process's own where it is empty.
std::vector<GpuDevice> visible_gpus(const Nvml& nvml, const std::function<const char*(const char*)>& environment);

}  // namespace drapps
