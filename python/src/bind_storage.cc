// The emulated storage: drapps._core.EmulatedStorage.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <unistd.h>

#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "drapps/storage/emulated_storage.h"
#include "shared.h"

namespace nb = nanobind;

namespace drapps {
namespace {

using nb::literals::operator""_a;
using Shared = std::shared_ptr<EmulatedStorage>;
/// at, bandwidth, connection_bandwidth, latency, latency_spread, requests_per_second, refuses, stalls.
using Change = std::tuple<double, double, double, double, double, double, bool, bool>;

struct PythonStorage {
  Shared storage;
};

EmulationSpec spec_of(const std::vector<Change>& schedule, double period, double burst, std::uint64_t seed) {
  EmulationSpec spec{.period = period, .burst = burst, .seed = seed};
  for (const auto& [at, bandwidth, connection, latency, spread, requests, refuses, stalls] : schedule) {
    spec.schedule.push_back({at, {bandwidth, connection, latency, spread, requests, refuses, stalls}});
  }
  return spec;
}

/// @param fd  of an emulation that another process has made, or -1 for a new one.
PythonStorage make(const std::vector<Change>& schedule, double period, double burst, std::uint64_t seed,
                   double deadline, int fd) {
  auto spec = spec_of(schedule, period, burst, seed);
  auto emulation = fd < 0 ? Emulation::make(std::move(spec)) : Emulation::attach(std::move(spec), fd);
  const RetryOptions retry{.deadline = std::chrono::nanoseconds(static_cast<std::int64_t>(deadline * 1e9))};
  return {std::make_shared<EmulatedStorage>(value_of(std::move(emulation)), retry)};
}

/// Whether a signal is to be handled, which the first thread does. For waits without the GIL.
bool interrupted() {
  bool raised = false;
  if (::gettid() == ::getpid()) with_gil([&] { raised = PyErr_CheckSignals() != 0; });
  return raised;
}

nb::bytes read(const PythonStorage& self, const nb::bytes& path) {
  Buffer buffer(MemoryLedger::unlimited());
  ReadRequest request;
  request.at[kFirstPart].path = path.c_str();
  request.parts = 1;
  request.into[kFirstPart] = &buffer;
  Status status = ok_status();
  {
    const WithoutGil released;
    status = self.storage->read(request, {}, interrupted);
  }
  if (PyErr_Occurred() != nullptr) throw nb::python_error();
  if (!status.ok()) {
    const Error& error = status.error();
    PyErr_SetString(error.code == ErrorCode::kUnavailable ? PyExc_TimeoutError : PyExc_OSError, error.message.c_str());
    throw nb::python_error();
  }
  return nb::bytes(request.bytes[kFirstPart].data(), request.bytes[kFirstPart].size());
}

nb::dict stats(const PythonStorage& self) {
  const StorageCounts counts = self.storage->meter().counts();
  const std::string_view kind = self.storage->kind();
  nb::dict counted;
  counted["kind"] = nb::str(kind.data(), kind.size());
  counted["reads"] = counts.waited.count;
  counted["bytes"] = counts.bytes;
  counted["in_flight"] = counts.in_flight;
  counted["refusals"] = counts.refusals;
  counted["retries"] = counts.retries;
  counted["failures"] = counts.failures;
  counted["latency_p50_s"] = static_cast<double>(counts.waited.quantile(0.5)) * 1e-9;
  counted["latency_p99_s"] = static_cast<double>(counts.waited.quantile(0.99)) * 1e-9;
  return counted;
}

}  // namespace

void bind_storage(nb::module_& module) {
  nb::class_<PythonStorage>(module, "EmulatedStorage", "Files as if they lay on another storage.")
      .def(nb::new_(&make), "schedule"_a, "period"_a, "burst"_a, "seed"_a, "deadline"_a, "fd"_a = -1,
           "A new storage, or the one behind a descriptor. Raises ValueError.")
      .def_prop_ro("fd", [](const PythonStorage& self) { return self.storage->emulation().fd(); })
      .def("read", &read, "path"_a,
           "The bytes of a file. Raises OSError, TimeoutError behind the deadline, and what a signal handler raises.")
      .def("stats", &stats, "What this process has read here.")
      .def(
          "holds",
          [](const PythonStorage& self, const SharedSource& source) { source.source->set_storage(self.storage); },
          "source"_a, "From now on the files of a source lie here. For a source that nobody reads yet.");
}

}  // namespace drapps
