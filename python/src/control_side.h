// What Python may do with the control plane of a loader, native or not.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <nlohmann/json.hpp>
#include <string>

#include "drapps/control/control.h"
#include "shared.h"

namespace drapps {

inline PolicyConfig policy_of(const std::string& text) {
  return value_of(policy_config_from_json(nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false)));
}

/// Binds what a class offers that has a control(). Each of these methods may wait for a decision under way, which waits
/// for workers that end, which may wait for the GIL.
template <class T>
void bind_control_of(nanobind::class_<T>& bound) {
  bound
      .def(
          "set_policy",
          [](T& self, const std::string& policy) {
            PolicyConfig config = policy_of(policy);
            const WithoutGil released;
            value_of(self.control().set_policy(std::move(config)));
          },
          nanobind::arg("policy"), "Another one from here on, in JSON (policy/config.h).")
      .def(
          "freeze",
          [](T& self, bool frozen) {
            const WithoutGil released;
            self.control().freeze(frozen);
          },
          nanobind::arg("frozen"))
      .def("stop_recording",
           [](T& self) {
             const WithoutGil released;
             self.control().stop_recording();
           })
      .def(
          "take_warning", [](T& self) { return self.control().take_warning(); },
          "Why a recording ended by itself, once; else empty.");
}

/// Records with the GIL released. Raises OSError, or ValueError where there is such a file or a recording.
template <class Record>
void record_into(const nanobind::bytes& path, const Record& record) {
  const Status recorded = [&] {
    const std::string name = path.c_str();
    const WithoutGil released;
    return record(name);
  }();
  if (!recorded.ok()) raise_for_file(recorded.error());
}

}  // namespace drapps
