// Whose the entries of a store are: of loaders that are there, or of loaders that have left.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace drapps::cache {

/// Members by their numbers. Joining and leaving one after the other; all else from any thread.
class Members {
 public:
  static constexpr std::size_t kMost = 1024;

  /// Whether there is a number that no entry has.
  bool has_unused() const noexcept;
  /// The number of one more member. Without an unused number, several members have the last.
  std::uint16_t join() noexcept;
  void leave(std::uint16_t number) noexcept;
  bool here(std::uint16_t number) const noexcept { return (word(number) & kHere) != 0; }

  /// An entry of so many bytes is the member's from now on, or no more.
  void add(std::uint16_t number, std::size_t bytes) noexcept;
  void remove(std::uint16_t number, std::size_t bytes) noexcept;

  /// Bytes of the entries of members that have left.
  std::size_t left_bytes() const noexcept;

 private:
  static constexpr std::uint64_t kHere = std::uint64_t{1} << 63;  // beside the bytes of its entries

  std::size_t unused() const noexcept;
  std::uint64_t word(std::size_t number) const noexcept { return words_[number].load(std::memory_order_relaxed); }

  std::array<std::atomic<std::uint64_t>, kMost> words_{};
  std::atomic<std::int64_t> left_bytes_{0};  // below 0 while a member leaves
  std::uint32_t sharing_ = 0;                // the last number
};

}  // namespace drapps::cache
