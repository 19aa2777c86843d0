// What an object has in one process: a child of fork() has none of it at first, and makes its own.
//
//   Own* own = own_.get();  // own_ is a PerProcess<Own>
//   if (own == nullptr) own = &own_.set(std::make_unique<Own>());
//
// The child has none of its parent's threads, and its parent's locks may be taken for ever: what the parent made is
// abandoned there, unseen.
#pragma once

#include <sys/types.h>
#include <unistd.h>

#include <cassert>
#include <memory>

namespace drapps {

/// In a child, one thread alone uses it until that thread has set the child's own T.
template <class T>
class PerProcess {
 public:
  PerProcess() = default;
  PerProcess(const PerProcess&) = delete;
  PerProcess& operator=(const PerProcess&) = delete;
  ~PerProcess() {
    if (get() == nullptr) static_cast<void>(value_.release());
  }

  /// This process's T; null where it has set none.
  T* get() const noexcept { return maker_ == getpid() ? value_.get() : nullptr; }
  /// Sets the T of this process, which has none yet.
  T& set(std::unique_ptr<T> value) noexcept {
    assert(get() == nullptr);
    static_cast<void>(value_.release());
    value_ = std::move(value);
    maker_ = getpid();
    return *value_;
  }

 private:
  pid_t maker_ = 0;
  std::unique_ptr<T> value_;
};

}  // namespace drapps
