// Tables that are looked into anywhere: in huge pages, so that few lookups have to ask where a page is.
#pragma once

#include <cstddef>
#include <type_traits>
#include <utility>

namespace drapps::text {

/// Zeroed memory at a cache line's beginning, in huge pages where it is large and the system has such for it. Throws
/// std::bad_alloc.
std::byte* take_huge(std::size_t bytes);
void free_huge(std::byte* memory, std::size_t bytes) noexcept;

/// So many entries, of zero bytes at first.
template <class T>
class HugeArray {
  static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>);

 public:
  HugeArray() = default;
  explicit HugeArray(std::size_t size) : data_(reinterpret_cast<T*>(take_huge(size * sizeof(T)))), size_(size) {}
  ~HugeArray() {
    if (data_ != nullptr) free_huge(reinterpret_cast<std::byte*>(data_), size_ * sizeof(T));
  }
  HugeArray(HugeArray&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  HugeArray& operator=(HugeArray&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
  }

  std::size_t size() const noexcept { return size_; }
  T* begin() const noexcept { return data_; }
  T* end() const noexcept { return data_ + size_; }
  T& operator[](std::size_t at) const noexcept { return data_[at]; }

 private:
  T* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace drapps::text
