// The Python module drapps._core: every area of the core that Python sees, and nothing else.
#include <nanobind/nanobind.h>

namespace drapps {
#define DRAPPS_AREA(name) void bind_##name(nanobind::module_& module);
#include "areas.inc"
#undef DRAPPS_AREA
}  // namespace drapps

NB_MODULE(_core, module) {  // NOLINT(performance-unnecessary-value-param): the macro's
  module.doc() = "The native core of drapps. Its public names are those of the package drapps.";
  module.attr("__version__") = DRAPPS_VERSION;
#define DRAPPS_AREA(name) drapps::bind_##name(module);
#include "areas.inc"
#undef DRAPPS_AREA
}
