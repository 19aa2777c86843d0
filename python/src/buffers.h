// Memory of Python objects that have the buffer protocol.
#pragma once

#include <nanobind/nanobind.h>

#include <cstddef>
#include <span>
#include <vector>

namespace drapps {

/// The bytes of objects with the buffer protocol, while it lives. Requires the GIL.
class Buffers {
 public:
  explicit Buffers(const nanobind::sequence& parts) {
    for (const nanobind::handle part : parts) {
      Py_buffer view;
      if (PyObject_GetBuffer(part.ptr(), &view, PyBUF_ANY_CONTIGUOUS) != 0) {
        release();
        throw nanobind::python_error();
      }
      views_.push_back(view);
      bytes_.emplace_back(static_cast<const std::byte*>(view.buf), static_cast<std::size_t>(view.len));
      total_ += bytes_.back().size();
    }
  }
  ~Buffers() { release(); }
  Buffers(const Buffers&) = delete;
  Buffers& operator=(const Buffers&) = delete;

  std::span<const std::span<const std::byte>> bytes() const noexcept { return bytes_; }
  std::size_t total() const noexcept { return total_; }

 private:
  void release() noexcept {
    for (Py_buffer& view : views_) PyBuffer_Release(&view);
  }

  std::vector<Py_buffer> views_;
  std::vector<std::span<const std::byte>> bytes_;
  std::size_t total_ = 0;
};

}  // namespace drapps
