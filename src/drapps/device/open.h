// Devices by name.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "drapps/device/device.h"
#include "drapps/device/host/host_device.h"

namespace drapps::device {

/// "cuda:N", which makes the primary context of that GPU if nobody has; or "host" and "host:N", where tests allow it.
/// One device for each name in a process, as long as somebody has it. kInvalidArgument for another name; else as
/// CudaDriver::load and CudaDevice::make.
Result<std::shared_ptr<Device>> open_device(const std::string& name);

/// For tests: "host" and "host:N" are devices from now on; or, with nothing, no more.
void allow_host_device(const std::optional<HostDeviceOptions>& options);

}  // namespace drapps::device
