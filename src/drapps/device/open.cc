#include "drapps/device/open.h"

#include <charconv>
#include <map>
#include <mutex>
#include <string_view>
#include <utility>

#include "drapps/base/caught.h"
#include "drapps/base/process_local.h"
#include "drapps/device/cuda/cuda_device.h"

namespace drapps::device {
namespace {

struct OpenDevices {
  std::mutex mutex;  // guards all below
  std::optional<HostDeviceOptions> host;
  std::map<std::string, std::weak_ptr<Device>> devices;
};

/// The number behind "cuda:", or nothing.
std::optional<int> ordinal_of(std::string_view name) {
  constexpr std::string_view kPrefix = "cuda:";
  if (!name.starts_with(kPrefix)) return std::nullopt;
  name.remove_prefix(kPrefix.size());
  int ordinal = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), ordinal);
  if (error != std::errc() || end != name.data() + name.size()) return std::nullopt;
  return ordinal;
}

Result<std::shared_ptr<Device>> make_device(const std::string& name, const std::optional<HostDeviceOptions>& host) {
  if ((name == "host" || name.starts_with("host:")) && host)
    return std::shared_ptr<Device>(std::make_shared<HostDevice>(*host));
  const std::optional<int> ordinal = ordinal_of(name);
  if (!ordinal) return invalid("device \"" + name + "\" is none; write \"cuda:0\"");
  auto driver = CudaDriver::load();
  if (!driver.ok()) return std::move(driver).error();
  auto device = CudaDevice::make(*std::move(driver), *ordinal);
  if (!device.ok()) return std::move(device).error();
  return std::shared_ptr<Device>(*std::move(device));
}

}  // namespace

Result<std::shared_ptr<Device>> open_device(const std::string& name) {
  return catching([&]() -> Result<std::shared_ptr<Device>> {
    OpenDevices& all = process_local<OpenDevices>();
    const std::scoped_lock lock(all.mutex);
    std::weak_ptr<Device>& known = all.devices[name];
    if (auto device = known.lock()) return device;
    auto result = make_device(name, all.host);
    if (result.ok()) known = *result;
    return result;
  });
}

void allow_host_device(const std::optional<HostDeviceOptions>& options) {
  OpenDevices& all = process_local<OpenDevices>();
  const std::scoped_lock lock(all.mutex);
  all.host = options;
}

}  // namespace drapps::device
