// Built as a library of its own: with NVML_OLD as an old driver has it, without the functions that came later.
#include "drapps/meter/nvml_stand_in_test.h"

#include <cstring>
#include <string_view>

// The names and types of the ABI: what is compared here is that nvml.cc has written them out as they are.
#define NVML extern "C" __attribute__((visibility("default")))

namespace {

using nvmlReturn_t = int;
using nvmlDevice_t = drapps::StandInDevice*;
struct nvmlUtilization_t {
  unsigned int gpu;
  unsigned int memory;
};
struct nvmlMemory_t {
  unsigned long long total, free, used;
};
struct nvmlMemory_v2_t {
  unsigned int version;
  unsigned long long total, reserved, free, used;
};

enum : nvmlReturn_t {
  NVML_ERROR_INVALID_ARGUMENT = 2,
  NVML_ERROR_NOT_SUPPORTED = 3,
  NVML_ERROR_NOT_FOUND = 6,
  NVML_ERROR_INSUFFICIENT_SIZE = 7,
};

drapps::StandInMachine machine;

nvmlReturn_t answer(nvmlDevice_t device, drapps::StandInQuestion question) {
  ++machine.questions;
  return device->answers[question];
}

nvmlReturn_t copy(const char* from, char* to, unsigned bytes) {
  if (std::strlen(from) >= bytes) return NVML_ERROR_INSUFFICIENT_SIZE;
  std::strcpy(to, from);
  return 0;
}

}  // namespace

NVML drapps::StandInMachine* nvml_stand_in() { return &machine; }

NVML nvmlReturn_t nvmlInit_v2() {
  if (machine.init_answer == 0) ++machine.started;
  return machine.init_answer;
}
NVML nvmlReturn_t nvmlShutdown() {
  --machine.started;
  return 0;
}
NVML nvmlReturn_t nvmlDeviceGetCount_v2(unsigned* count) {
  *count = machine.count;
  return 0;
}
NVML nvmlReturn_t nvmlDeviceGetHandleByIndex_v2(unsigned index, nvmlDevice_t* device) {
  if (index >= machine.count) return NVML_ERROR_INVALID_ARGUMENT;
  *device = &machine.gpus[index];
  return 0;
}
NVML nvmlReturn_t nvmlDeviceGetName(nvmlDevice_t device, char* name, unsigned bytes) {
  return copy(device->name, name, bytes);
}
NVML nvmlReturn_t nvmlDeviceGetUUID(nvmlDevice_t device, char* uuid, unsigned bytes) {
  return copy(device->uuid, uuid, bytes);
}
NVML nvmlReturn_t nvmlDeviceGetUtilizationRates(nvmlDevice_t device, nvmlUtilization_t* utilization) {
  *utilization = {device->percent, 77};
  return answer(device, drapps::kAskUse);
}
NVML nvmlReturn_t nvmlDeviceGetMemoryInfo(nvmlDevice_t device, nvmlMemory_t* memory) {
  const unsigned long long used = device->used + device->reserved;
  *memory = {device->total, device->total - used, used};
  return answer(device, drapps::kAskMemory);
}
NVML nvmlReturn_t nvmlDeviceGetClockInfo(nvmlDevice_t device, int type, unsigned* mhz) {
  *mhz = type == 1 ? device->sm_mhz : type == 2 ? device->memory_mhz : 0;
  return answer(device, drapps::kAskClock);
}
NVML nvmlReturn_t nvmlDeviceGetPowerUsage(nvmlDevice_t device, unsigned* milliwatts) {
  *milliwatts = device->milliwatts;
  return answer(device, drapps::kAskPower);
}
NVML nvmlReturn_t nvmlDeviceGetCurrentClocksThrottleReasons(nvmlDevice_t device, unsigned long long* reasons) {
  *reasons = device->reasons;
  return answer(device, drapps::kAskReasons);
}
NVML nvmlReturn_t nvmlDeviceGetPcieThroughput(nvmlDevice_t device, int counter, unsigned* kilobytes) {
  *kilobytes = counter == 0 ? device->to_host : device->from_host;
  return answer(device, drapps::kAskPcie);
}

#ifndef NVML_OLD
NVML nvmlReturn_t nvmlDeviceGetMemoryInfo_v2(nvmlDevice_t device, nvmlMemory_v2_t* memory) {
  if (memory->version != (sizeof *memory | 2 << 24)) return NVML_ERROR_INVALID_ARGUMENT;
  memory->total = device->total;
  memory->reserved = device->reserved;
  memory->free = device->total - device->used - device->reserved;
  memory->used = device->used;
  return answer(device, drapps::kAskMemory);
}
NVML nvmlReturn_t nvmlDeviceGetTotalEnergyConsumption(nvmlDevice_t device, unsigned long long* millijoules) {
  *millijoules = device->millijoules;
  return answer(device, drapps::kAskEnergy);
}
NVML nvmlReturn_t nvmlDeviceGetCurrentClocksEventReasons(nvmlDevice_t device, unsigned long long* reasons) {
  return nvmlDeviceGetCurrentClocksThrottleReasons(device, reasons);
}
NVML nvmlReturn_t nvmlDeviceGetHandleByUUID(const char* uuid, nvmlDevice_t* device) {
  for (nvmlDevice_t instance : machine.instances) {
    if (instance == nullptr || std::string_view(instance->uuid) != uuid) continue;
    *device = instance;
    return 0;
  }
  return NVML_ERROR_NOT_FOUND;
}
NVML nvmlReturn_t nvmlDeviceGetMigMode(nvmlDevice_t device, unsigned* current, unsigned* pending) {
  if (device->whole != nullptr) return NVML_ERROR_NOT_SUPPORTED;
  *current = *pending = device->split ? 1 : 0;
  return 0;
}
NVML nvmlReturn_t nvmlDeviceGetMaxMigDeviceCount(nvmlDevice_t, unsigned* count) {
  *count = 4;
  return 0;
}
NVML nvmlReturn_t nvmlDeviceGetMigDeviceHandleByIndex(nvmlDevice_t device, unsigned index, nvmlDevice_t* instance) {
  if (device != &machine.gpus[0] || index >= 4 || machine.instances[index] == nullptr) return NVML_ERROR_NOT_FOUND;
  *instance = machine.instances[index];
  return 0;
}
NVML nvmlReturn_t nvmlDeviceIsMigDeviceHandle(nvmlDevice_t device, unsigned* is_instance) {
  *is_instance = device->whole != nullptr ? 1 : 0;
  return 0;
}
NVML nvmlReturn_t nvmlDeviceGetDeviceHandleFromMigDeviceHandle(nvmlDevice_t instance, nvmlDevice_t* device) {
  *device = instance->whole;
  return 0;
}
#endif
