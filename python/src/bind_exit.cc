// What becomes of daemon threads when the interpreter ends: it binds nothing.
//
// Before Python 3.14, such a thread is killed by pthread_exit() where it asks for the GIL. That unwinds its stack, and
// std::terminate() follows where a destructor asked, as those do with which most of torch's functions end. Here such
// threads wait for the end of the process, as all do from 3.14 on. One that holds a lock may keep the end from coming,
// as a thread of torch's process groups does: then the process is aborted after all.
#include <nanobind/nanobind.h>
#include <pthread.h>
#include <unwind.h>

#include <chrono>
#include <cstdlib>
#include <exception>
#include <thread>

namespace drapps {
namespace {

constexpr std::chrono::seconds kPatience{10};  // many times what the rest of the end takes

std::terminate_handler others = nullptr;

_Unwind_Reason_Code look_at(_Unwind_Context* frame, void* flag) {
  // NOLINTNEXTLINE(performance-no-int-to-ptr): where the frame's function goes on
  auto* const at = reinterpret_cast<void*>(_Unwind_GetIP(frame));
  if (_Unwind_FindEnclosingFunction(at) != reinterpret_cast<void*>(&pthread_exit)) return _URC_NO_REASON;
  *static_cast<bool*>(flag) = true;
  return _URC_END_OF_STACK;
}

bool within_pthread_exit() {
  bool inside = false;
  _Unwind_Backtrace(look_at, &inside);
  return inside;
}

[[noreturn]] void on_terminate() {
  if (Py_IsInitialized() == 0 && within_pthread_exit()) std::this_thread::sleep_for(kPatience);
  if (others != nullptr) others();
  std::abort();
}

}  // namespace

void bind_exit(nanobind::module_& /*module*/) {
  if (std::get_terminate() != &on_terminate) others = std::set_terminate(&on_terminate);
}

}  // namespace drapps
