// What lives to the very end of the process.
//
// exit() destroys static objects while other threads still run: daemon threads of Python, and threads of loaders that
// nobody closed. So what a thread may read is never destroyed. Clang refuses a static that exit() would destroy
// (-Wexit-time-destructors), in the builds with sanitizers and as clang-tidy.
#pragma once

#include <utility>

namespace drapps {

/// A static T without an end. What it holds stays reachable, so it is no leak.
template <class T>
class NeverDestroyed {
 public:
  template <class... Of>
  explicit NeverDestroyed(Of&&... of) : value_(*new T(std::forward<Of>(of)...)) {}
  NeverDestroyed(const NeverDestroyed&) = delete;
  NeverDestroyed& operator=(const NeverDestroyed&) = delete;

  T& operator*() const noexcept { return value_; }

 private:
  T& value_;
};

}  // namespace drapps
