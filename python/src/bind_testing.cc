// What tests need of the core and users do not: drapps._core._register_test_policies, in no wheel.
#include <nanobind/nanobind.h>

#include <chrono>
#include <cstddef>
#include <cstdint>

#include "drapps/device/open.h"
#include "drapps/policy/policies_test.h"

namespace drapps {

void bind_testing(nanobind::module_& module) {
  module.def("_register_test_policies", &register_test_policies,
             "Makes the policies random, random_raw and faulty known in this process.");
  module.def(
      "_allow_host_device",
      [](std::size_t memory_bytes, std::int64_t latency_ns, std::uint64_t launches, bool host_reads) {
        const std::chrono::nanoseconds latency(latency_ns);
        device::allow_host_device(device::HostDeviceOptions{memory_bytes, latency, latency, launches, host_reads});
      },
      nanobind::arg("memory_bytes"), nanobind::arg("latency_ns"), nanobind::arg("launches") = ~std::uint64_t{0},
      nanobind::arg("host_reads") = true,
      "Makes \"host\" a device in this process, whose copies and launches take at least so long, and which is lost "
      "with the launch behind so many. Without `host_reads` its batches count as those on a GPU.");
}

}  // namespace drapps
