// What several areas of the module need.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cxxabi.h>
#include <unistd.h>

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

#include "drapps/base/memory_ledger.h"
#include "drapps/base/result.h"
#include "drapps/decode/jpeg/index_shared.h"
#include "drapps/source/source.h"

namespace drapps {

/// Waits for the end of the process. An interpreter that has begun to end kills a thread that asks for the GIL (before
/// 3.14), by unwinding its stack; no destructor survives that, so such a thread, a daemon, stops here.
[[noreturn]] inline void wait_for_the_end() {
  for (;;) pause();
}

/// While it lives, other threads may run Python.
class WithoutGil {
 public:
  WithoutGil() : thread_(PyEval_SaveThread()) {}
  ~WithoutGil() {
    try {
      PyEval_RestoreThread(thread_);
    } catch (abi::__forced_unwind&) {
      wait_for_the_end();
    }
  }
  WithoutGil(const WithoutGil&) = delete;
  WithoutGil& operator=(const WithoutGil&) = delete;

 private:
  PyThreadState* const thread_;
};

/// Runs `work` under the GIL on any thread, the core's own among them, or not at all once the interpreter has begun to
/// end: what is left then goes with the process. A thread that is caught in between stops here for ever.
template <class Work>
void with_gil(const Work& work) noexcept {
  if (!Py_IsInitialized()) return;
  PyGILState_STATE state{};
  try {
    state = PyGILState_Ensure();
  } catch (abi::__forced_unwind&) {
    wait_for_the_end();
  }
  work();
  PyGILState_Release(state);
}

/// Pixels that Python gives, and bytes that it gets.
using ConstPixels = nanobind::ndarray<const std::uint8_t, nanobind::ndim<3>, nanobind::c_contig, nanobind::device::cpu>;
using NumpyBytes = nanobind::ndarray<nanobind::numpy, std::uint8_t>;

/// A source that several loaders share.
struct SharedSource {
  std::shared_ptr<Source> source;
};

/// A table of what decoding has learnt of JPEG files, which processes share.
struct SharedIndexes {
  std::shared_ptr<jpeg::SharedIndexStore> store;
  std::unique_ptr<MemoryLedger> account;  // of the process that made the table
};

/// A path, or another text of the system, as os.fsdecode() gives it.
inline nanobind::str system_text(const std::string& text) {
  return nanobind::steal<nanobind::str>(
      PyUnicode_DecodeFSDefaultAndSize(text.data(), static_cast<Py_ssize_t>(text.size())));
}

/// args of SampleError, and an entry of the list of bad samples.
inline nanobind::tuple error_args(const Error& error) {
  const auto stage = name_of(error.stage);
  const auto code = name_of(error.code);
  return nanobind::make_tuple(nanobind::str(stage.data(), stage.size()), nanobind::str(code.data(), code.size()),
                              system_text(error.path), error.offset, error.index, error.message);
}

/// ValueError: an argument of a function for tests and tools is wrong.
[[noreturn]] inline void fail(const Error& error) { throw std::invalid_argument(error.to_string()); }

/// OSError where a file is refused by the system, ValueError where it is not what it should be.
[[noreturn]] inline void raise_for_file(const Error& error) {
  const bool of_system = error.code == ErrorCode::kNotFound || error.code == ErrorCode::kPermission ||
                         error.code == ErrorCode::kIo || error.code == ErrorCode::kResourceExhausted;
  std::string text = error.path.empty() ? error.message : error.path + ": " + error.message;
  if (!of_system && error.offset >= 0) text += " (byte " + std::to_string(error.offset) + ")";
  const auto message =
      nanobind::steal(PyUnicode_DecodeFSDefaultAndSize(text.data(), static_cast<Py_ssize_t>(text.size())));
  PyErr_SetObject(of_system ? PyExc_OSError : PyExc_ValueError, message.ptr());
  throw nanobind::python_error();
}

/// The value, or ValueError: descriptions and options are checked before anything runs.
template <class T>
T value_of(Result<T> result) {
  if (!result.ok()) throw nanobind::value_error(result.error().message.c_str());
  return std::move(result).value();
}

}  // namespace drapps
