// Sole owner of a file descriptor.
#pragma once

#include <unistd.h>

#include <utility>

namespace drapps {

class UniqueHandle {
 public:
  UniqueHandle() noexcept = default;
  explicit UniqueHandle(int fd) noexcept : fd_(fd) {}
  ~UniqueHandle() { reset(); }
  UniqueHandle(UniqueHandle&& other) noexcept : fd_(other.release()) {}
  UniqueHandle& operator=(UniqueHandle&& other) noexcept {
    if (this != &other) reset(other.release());
    return *this;
  }

  int get() const noexcept { return fd_; }
  explicit operator bool() const noexcept { return fd_ >= 0; }

  /// Gives the descriptor away; the caller closes it.
  [[nodiscard]] int release() noexcept { return std::exchange(fd_, -1); }

  /// Closes what is held and holds `fd` instead. close() is not retried on EINTR: Linux has released
  /// the number by then, and it may already be another thread's.
  void reset(int fd = -1) noexcept {
    if (fd_ >= 0) ::close(fd_);
    fd_ = fd;
  }

 private:
  int fd_ = -1;
};

}  // namespace drapps
