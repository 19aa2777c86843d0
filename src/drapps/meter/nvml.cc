#include "drapps/meter/nvml.h"

#include <dlfcn.h>

#include <array>

namespace drapps {
namespace {

// nvmlUtilization_t, nvmlMemory_t, nvmlMemory_v2_t.
struct Utilization {
  unsigned gpu, memory;
};
struct MemoryV1 {
  unsigned long long total, free, used;
};
struct MemoryV2 {
  unsigned version;
  unsigned long long total, reserved, free, used;
};
constexpr unsigned kMemoryVersion = sizeof(MemoryV2) | 2u << 24;
constexpr unsigned kNvmlTextBytes = 96;  // NVML_DEVICE_NAME_V2_BUFFER_SIZE, NVML_DEVICE_UUID_V2_BUFFER_SIZE

template <class Function, class... Arguments>
NvmlResult ask_nvml(Function* function, Arguments... arguments) {
  return function != nullptr ? function(arguments...) : NvmlResult::kFunctionNotFound;
}

std::string nvml_text(NvmlResult (*function)(NvmlDevice, char*, unsigned), NvmlDevice device) {
  std::array<char, kNvmlTextBytes + 1> text{};
  return ask_nvml(function, device, text.data(), kNvmlTextBytes) == NvmlResult::kSuccess ? text.data() : "";
}

}  // namespace

struct Nvml::Functions {
  NvmlResult (*init)() = nullptr;
  NvmlResult (*shutdown)() = nullptr;
  NvmlResult (*count)(unsigned*) = nullptr;
  NvmlResult (*by_index)(unsigned, NvmlDevice*) = nullptr;
  NvmlResult (*by_uuid)(const char*, NvmlDevice*) = nullptr;
  NvmlResult (*name)(NvmlDevice, char*, unsigned) = nullptr;
  NvmlResult (*uuid)(NvmlDevice, char*, unsigned) = nullptr;
  NvmlResult (*mig_mode)(NvmlDevice, unsigned*, unsigned*) = nullptr;
  NvmlResult (*most_instances)(NvmlDevice, unsigned*) = nullptr;
  NvmlResult (*instance)(NvmlDevice, unsigned, NvmlDevice*) = nullptr;
  NvmlResult (*is_instance)(NvmlDevice, unsigned*) = nullptr;
  NvmlResult (*whole)(NvmlDevice, NvmlDevice*) = nullptr;
  NvmlResult (*utilization)(NvmlDevice, Utilization*) = nullptr;
  NvmlResult (*memory_v1)(NvmlDevice, MemoryV1*) = nullptr;
  NvmlResult (*memory_v2)(NvmlDevice, MemoryV2*) = nullptr;
  NvmlResult (*clock)(NvmlDevice, NvmlClock, unsigned*) = nullptr;
  NvmlResult (*power)(NvmlDevice, unsigned*) = nullptr;
  NvmlResult (*energy)(NvmlDevice, unsigned long long*) = nullptr;
  NvmlResult (*reasons)(NvmlDevice, unsigned long long*) = nullptr;
  NvmlResult (*pcie)(NvmlDevice, NvmlDirection, unsigned*) = nullptr;
};

std::unique_ptr<const Nvml> Nvml::load(const char* library) {
  // It stays in memory when it is closed: a driver's library may leave threads or handlers behind.
  void* const handle = ::dlopen(library, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (handle == nullptr) return nullptr;
  const auto find = [handle]<class Function>(Function*& function, const char* name) {
    function = reinterpret_cast<Function*>(::dlsym(handle, name));
    return function != nullptr;
  };
  Functions f;
  find(f.init, "nvmlInit_v2");
  find(f.shutdown, "nvmlShutdown");
  find(f.count, "nvmlDeviceGetCount_v2");
  find(f.by_index, "nvmlDeviceGetHandleByIndex_v2");
  find(f.by_uuid, "nvmlDeviceGetHandleByUUID");
  find(f.name, "nvmlDeviceGetName");
  find(f.uuid, "nvmlDeviceGetUUID");
  find(f.mig_mode, "nvmlDeviceGetMigMode");
  find(f.most_instances, "nvmlDeviceGetMaxMigDeviceCount");
  find(f.instance, "nvmlDeviceGetMigDeviceHandleByIndex");
  find(f.is_instance, "nvmlDeviceIsMigDeviceHandle");
  find(f.whole, "nvmlDeviceGetDeviceHandleFromMigDeviceHandle");
  find(f.utilization, "nvmlDeviceGetUtilizationRates");
  find(f.memory_v1, "nvmlDeviceGetMemoryInfo");
  find(f.memory_v2, "nvmlDeviceGetMemoryInfo_v2");
  find(f.clock, "nvmlDeviceGetClockInfo");
  find(f.power, "nvmlDeviceGetPowerUsage");
  find(f.energy, "nvmlDeviceGetTotalEnergyConsumption");
  if (!find(f.reasons, "nvmlDeviceGetCurrentClocksEventReasons")) {
    find(f.reasons, "nvmlDeviceGetCurrentClocksThrottleReasons");  // its name before R535
  }
  find(f.pcie, "nvmlDeviceGetPcieThroughput");
  if (ask_nvml(f.init) != NvmlResult::kSuccess) {
    ::dlclose(handle);
    return nullptr;
  }
  return std::unique_ptr<const Nvml>(new Nvml(handle, f));
}

Nvml::Nvml(void* library, const Functions& functions)
    : library_(library), functions_(std::make_unique<const Functions>(functions)) {}

Nvml::~Nvml() {
  ask_nvml(functions_->shutdown);
  ::dlclose(library_);
}

unsigned Nvml::device_count() const {
  unsigned count = 0;
  return ask_nvml(functions_->count, &count) == NvmlResult::kSuccess ? count : 0;
}

NvmlDevice Nvml::device(unsigned index) const {
  NvmlDevice device = nullptr;
  return ask_nvml(functions_->by_index, index, &device) == NvmlResult::kSuccess ? device : nullptr;
}

NvmlDevice Nvml::device_by_uuid(const std::string& uuid) const {
  NvmlDevice device = nullptr;
  return ask_nvml(functions_->by_uuid, uuid.c_str(), &device) == NvmlResult::kSuccess ? device : nullptr;
}

NvmlDevice Nvml::first_instance(NvmlDevice gpu) const {
  unsigned split = 0, split_later = 0, most = 0;
  if (ask_nvml(functions_->mig_mode, gpu, &split, &split_later) != NvmlResult::kSuccess || split == 0) return nullptr;
  if (ask_nvml(functions_->most_instances, gpu, &most) != NvmlResult::kSuccess) return nullptr;
  for (unsigned index = 0; index < most; ++index) {
    NvmlDevice instance = nullptr;  // an index may be free
    if (ask_nvml(functions_->instance, gpu, index, &instance) == NvmlResult::kSuccess) return instance;
  }
  return nullptr;
}

NvmlDevice Nvml::whole(NvmlDevice device) const {
  unsigned is_instance = 0;
  if (ask_nvml(functions_->is_instance, device, &is_instance) != NvmlResult::kSuccess || is_instance == 0)
    return device;
  NvmlDevice gpu = nullptr;
  return ask_nvml(functions_->whole, device, &gpu) == NvmlResult::kSuccess ? gpu : device;
}

std::string Nvml::name(NvmlDevice device) const { return nvml_text(functions_->name, device); }
std::string Nvml::uuid(NvmlDevice device) const { return nvml_text(functions_->uuid, device); }

NvmlResult Nvml::use(NvmlDevice device, unsigned& percent) const {
  Utilization utilization{};
  const NvmlResult result = ask_nvml(functions_->utilization, device, &utilization);
  percent = utilization.gpu;
  return result;
}

NvmlResult Nvml::memory(NvmlDevice device, NvmlMemory& memory) const {
  if (functions_->memory_v2 != nullptr) {
    MemoryV2 report{.version = kMemoryVersion};
    const NvmlResult result = functions_->memory_v2(device, &report);
    memory = {.total = report.total, .used = report.used};
    return result;
  }
  MemoryV1 report{};
  const NvmlResult result = ask_nvml(functions_->memory_v1, device, &report);
  memory = {.total = report.total, .used = report.used};
  return result;
}

NvmlResult Nvml::clock(NvmlDevice device, NvmlClock clock, unsigned& mhz) const {
  return ask_nvml(functions_->clock, device, clock, &mhz);
}

NvmlResult Nvml::power(NvmlDevice device, unsigned& milliwatts) const {
  return ask_nvml(functions_->power, device, &milliwatts);
}

NvmlResult Nvml::energy(NvmlDevice device, std::uint64_t& millijoules) const {
  unsigned long long value = 0;
  const NvmlResult result = ask_nvml(functions_->energy, device, &value);
  millijoules = value;
  return result;
}

NvmlResult Nvml::throttle_reasons(NvmlDevice device, std::uint64_t& bits) const {
  unsigned long long mask = 0;
  const NvmlResult result = ask_nvml(functions_->reasons, device, &mask);
  bits = mask;
  return result;
}

NvmlResult Nvml::pcie(NvmlDevice device, NvmlDirection direction, unsigned& kibibytes_per_second) const {
  return ask_nvml(functions_->pcie, device, direction, &kibibytes_per_second);
}

}  // namespace drapps
