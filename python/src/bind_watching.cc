// Where Python code of the main thread stands, without waiting for it to give up the GIL.
//
// A thread that asks for the GIL gets it when the one that has it has run for 5 ms, or begins something for which it is
// not needed: decoding, reading. So whoever looks at another thread from one of its own sees mostly these, and next to
// nothing of the Python code between them. A pending call is run by the main thread itself, in that code.
#include <fcntl.h>
#include <nanobind/nanobind.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "drapps/base/unique_handle.h"
#include "pending_call.h"
#include "shared.h"

namespace nb = nanobind;

namespace drapps {
namespace {

using nb::literals::operator""_a;

constexpr int kMostFrames = 200;
// Python code answers within some microseconds. Who waits longer gets the answer of what comes behind a native call.
constexpr std::chrono::microseconds kPatience{150}, kPause{20};
// Who waits for the GIL longer than this finds the main thread elsewhere than it was before.
constexpr std::chrono::milliseconds kCurrent{1};

enum class FrameLook : int { kNone, kAsked, kTaken };
std::atomic<FrameLook> look{FrameLook::kNone};
std::atomic<bool> is_pending{false};  // Python has few places for such calls
PyObject* taken = nullptr;            // guarded by the GIL

/// (code, line, last instruction) of each frame, from the innermost.
nb::list frames_from(nb::object frame) {
  nb::list frames;
  for (int i = 0; frame.is_valid() && !frame.is_none() && i < kMostFrames; ++i) {
    frames.append(nb::make_tuple(frame.attr("f_code"), frame.attr("f_lineno"), frame.attr("f_lasti")));
    frame = frame.attr("f_back");
  }
  return frames;
}

int take_frames(void* /*unused*/) {
  is_pending = false;
  FrameLook asked = FrameLook::kAsked;
  if (look != asked) return 0;
  try {
    nb::object frames = frames_from(nb::borrow(reinterpret_cast<PyObject*>(PyEval_GetFrame())));
    nb::steal(std::exchange(taken, frames.release().ptr()));
    look.compare_exchange_strong(asked, FrameLook::kTaken);
  } catch (const std::exception&) {
    return 0;  // without memory there is nothing to look at
  }
  return 0;
}

/// One for each thread that looks, of which a process has one at a time.
class MainThreadFrames {
 public:
  MainThreadFrames() { is_pending = false; }  // whatever the process had asked for that this is a fork of

  /// Waits for so long, then asks where the main thread is. Returns whether it was stopped.
  bool wait(double seconds) {
    const WithoutGil released;
    std::unique_lock lock(mutex_);
    if (changed_.wait_for(lock, std::chrono::duration<double>(seconds), [&] { return stopped_; })) return true;
    call_ = read_call();
    read_at_ = std::chrono::steady_clock::now();
    if (!may_run()) return false;
    look = FrameLook::kAsked;
    // Still locked: once stop() has returned, nothing of the interpreter is touched, which may end then.
    if (!is_pending.exchange(true) && !call_on_main_thread(main_, &take_frames)) is_pending = false;
    lock.unlock();
    const auto end = std::chrono::steady_clock::now() + kPatience;
    while (look == FrameLook::kAsked && std::chrono::steady_clock::now() < end) std::this_thread::sleep_for(kPause);
    return false;
  }

  void stop() {
    const std::scoped_lock lock(mutex_);
    stopped_ = true;
    changed_.notify_all();
  }

  /// What was seen since wait() began; None where the main thread runs no Python code.
  nb::object take() {
    return look.exchange(FrameLook::kNone) == FrameLook::kTaken ? nb::steal(std::exchange(taken, nullptr)) : nb::none();
  }

  /// The call in which the main thread waited when wait() ended, as the kernel has it; None where it ran, where that is
  /// not known, or not new.
  nb::object call() const {
    if (may_run() || std::chrono::steady_clock::now() - read_at_ > kCurrent) return nb::none();
    return nb::bytes(call_.data(), call_.size());
  }

 private:
  /// Whether the main thread is on a core, or could be, or nobody says. Who looks at one that waits gets the GIL at
  /// once.
  bool may_run() const { return call_.empty() || call_.starts_with("running"); }

  std::string read_call() const {
    char text[256];
    const ssize_t size = pread(file_.get(), text, sizeof(text), 0);
    return std::string(text, static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
  }

  const UniqueHandle file_{
      open(("/proc/self/task/" + std::to_string(getpid()) + "/syscall").c_str(), O_RDONLY | O_CLOEXEC)};
  std::string call_;
  std::chrono::steady_clock::time_point read_at_;
  PyInterpreterState* const main_ = PyInterpreterState_Get();
  std::mutex mutex_;  // guards stopped_
  std::condition_variable changed_;
  bool stopped_ = false;
};

}  // namespace

void bind_watching(nb::module_& module) {
  nb::class_<MainThreadFrames>(module, "MainThreadFrames",
                               "Waits, and looks where Python code of the main thread stands, without the GIL.")
      .def(nb::init<>())
      .def("wait", &MainThreadFrames::wait, "seconds"_a, "Waits, then looks. Whether it was stopped.")
      .def("stop", &MainThreadFrames::stop, "Ends a wait, and all later ones.")
      .def("take", &MainThreadFrames::take,
           nb::sig("def take(self) -> list[tuple[types.CodeType, int | None, int]] | None"),
           "Code, line and last instruction of each frame that the last wait has seen, from the "
           "innermost; None where the main thread ran no Python code.")
      .def("call", &MainThreadFrames::call, nb::sig("def call(self) -> bytes | None"),
           "What /proc said of the call in which the main thread waited when the last wait ended; None where it ran, "
           "or where that is long ago.");
}

}  // namespace drapps
