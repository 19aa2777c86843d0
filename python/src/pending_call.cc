// Knows the inside of the Python that it is built with, and leaves that of any other alone.
#undef Py_LIMITED_API
#define Py_BUILD_CORE 1  // NOLINT(readability-identifier-naming): Python's
#include "pending_call.h"
#if PY_VERSION_HEX < 0x030D0000
#undef HAVE_STD_ATOMIC       // which is for C; the other way to write the same types is for any compiler
#pragma GCC diagnostic push  // its warnings are not ours
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wpedantic"
#include <internal/pycore_interp.h>
#pragma GCC diagnostic pop

#include <cstring>
#endif

namespace drapps {
namespace {

/// Before Python 3.13 the main thread looks for calls that another thread has added only once it gets the GIL: it is
/// told to look.
void wake([[maybe_unused]] PyInterpreterState* main) noexcept {
#if PY_VERSION_HEX < 0x030D0000
  static const bool is_built_for = std::strncmp(Py_GetVersion(), PY_VERSION, sizeof("3.10.") - 1) == 0;
  if (is_built_for) __atomic_store_n(&main->ceval.eval_breaker._value, 1, __ATOMIC_RELAXED);
#endif
}

}  // namespace

bool call_on_main_thread(PyInterpreterState* main, int (*function)(void*)) noexcept {
  if (Py_AddPendingCall(function, nullptr) != 0) return false;
  wake(main);
  return true;
}

}  // namespace drapps
