// A call that the main thread makes between two instructions of its Python code.
#pragma once

#include <Python.h>

namespace drapps {

/// Has the main thread of the main interpreter, which is given, call `function` soon, with the GIL; not before it runs
/// Python code again. Any thread may ask for it, without the GIL. False where Python has no room for it, which has some
/// thirty places.
bool call_on_main_thread(PyInterpreterState* main, int (*function)(void*)) noexcept;

}  // namespace drapps
