// Ids on their way to an array: memory that grows in place where the system can do that.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <span>
#include <utility>

#include "drapps/text/bpe/pair_table.h"

namespace drapps::text {

/// Bytes of text for each token, fewer than in most languages: memory for ids seldom has to grow, which copies them.
inline constexpr std::size_t kBytesOfToken = 3;

/// Has the system give the memory as if it were written, as far as it fills pages. What lies there stays, and where it
/// was given back meanwhile nothing happens.
void populate_pages(std::span<const TokenId> memory) noexcept;

/// Like a vector of ids, but what is reserved is not written before its time.
class IdBuffer {
 public:
  IdBuffer() = default;
  ~IdBuffer() { std::free(data_); }
  IdBuffer(IdBuffer&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)),
        size_(std::exchange(other.size_, 0)),
        capacity_(std::exchange(other.capacity_, 0)),
        there_(std::exchange(other.there_, 0)) {}
  IdBuffer& operator=(IdBuffer&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(capacity_, other.capacity_);
    std::swap(there_, other.there_);
    return *this;
  }

  TokenId* data() noexcept { return data_; }
  const TokenId* data() const noexcept { return data_; }
  std::size_t size() const noexcept { return size_; }

  /// About `n` more ids are to come. Throws std::bad_alloc.
  void expect(std::size_t n) {
    if (capacity_ - size_ < n) grow(n);
  }
  /// Where the next ids go; room for `n` of them. Throws std::bad_alloc.
  TokenId* reserve(std::size_t n) {
    expect(n);
    if (size_ + n > there_) populate(n);
    return data_ + size_;
  }
  /// The memory of about `n` ids behind those whose pages have been taken, for populate_pages(): it counts as taken.
  std::span<const TokenId> claim_pages(std::size_t n) noexcept {
    const std::size_t from = std::exchange(there_, std::min(capacity_, there_ + n));
    return {data_ + from, there_ - from};
  }
  /// Ids up to `end` of what reserve() gave have been written.
  void written_to(const TokenId* end) noexcept { size_ = static_cast<std::size_t>(end - data_); }
  void push_back(TokenId id) { *reserve(1) = id, ++size_; }

  /// The memory, for std::free(), without much that was reserved in vain: large memory that keeps its size is given
  /// again to the next buffer as it is, and need not be new.
  TokenId* release() noexcept {
    const bool fits = capacity_ * sizeof(TokenId) >= kLarge && capacity_ / 2 < size_;
    void* const fitting = fits ? data_ : std::realloc(data_, (size_ + 1) * sizeof(TokenId));
    TokenId* const ids = fitting != nullptr ? static_cast<TokenId*>(fitting) : data_;
    data_ = nullptr;
    size_ = capacity_ = there_ = 0;
    return ids;
  }

 private:
  static constexpr std::size_t kLarge = std::size_t{4} << 20;        // bytes
  static constexpr std::size_t kPopulated = std::size_t{128} << 10;  // ids

  void grow(std::size_t n) {
    const std::size_t capacity = size_ + n + capacity_ / 2 + 1024;
    void* const larger = std::realloc(data_, capacity * sizeof(TokenId));
    if (larger == nullptr) throw std::bad_alloc();
    data_ = static_cast<TokenId*>(larger);
    capacity_ = capacity;
  }
  /// Has the system give the pages of the next ids and of some behind them at once, which takes less than a fault for
  /// each. No huge ones: what a virtual machine has not used for a while may be its host's again, and to get such pages
  /// back took longer than to encode.
  void populate(std::size_t n) noexcept {
    const std::span<const TokenId> next = claim_pages(size_ + n + kPopulated - there_);
    if (capacity_ * sizeof(TokenId) >= kLarge) populate_pages(next);
  }

  TokenId* data_ = nullptr;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
  std::size_t there_ = 0;  // up to where pages have been taken
};

}  // namespace drapps::text
