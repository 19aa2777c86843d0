// What tests need of the core and users do not: drapps._core._register_test_policies, in no wheel.
#include <nanobind/nanobind.h>

#include "drapps/policy/policies_test.h"

namespace drapps {

void bind_testing(nanobind::module_& module) {
  module.def("_register_test_policies", &register_test_policies,
             "Makes the policies random, random_raw and faulty known in this process.");
}

}  // namespace drapps
