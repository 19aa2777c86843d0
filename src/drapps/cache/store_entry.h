// How the store's table and entries lie in memory; for store.cc alone.
#pragma once

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "drapps/cache/store.h"

namespace drapps::cache {

// A word: the address of an entry divided by 16, nine bits of its identity, whether it is to go, and its views.
inline constexpr std::uint64_t kPins = (std::uint64_t{1} << 10) - 1;
inline constexpr std::uint64_t kMarked = std::uint64_t{1} << 10;
inline constexpr int kTagShift = 11;
inline constexpr std::uint64_t kTag = std::uint64_t{0x1FF} << kTagShift;
inline constexpr int kAddressShift = 20;
inline constexpr std::uint64_t kUnused = 0;      // and so are all words behind it that an identity may be in
inline constexpr std::uint64_t kLeft = kMarked;  // its entry has left it

constexpr std::uint64_t address_of(std::uint64_t bits) noexcept { return bits >> kAddressShift << 4; }
constexpr bool live(std::uint64_t bits) noexcept { return address_of(bits) != 0 && (bits & kMarked) == 0; }
constexpr std::uint64_t tag_of(const RecordIdentity& id) noexcept { return id.low << kTagShift & kTag; }

// What an entry is: its form, the number of its member, and the bytes of its content.
inline constexpr int kFormShift = 56;
inline constexpr int kMemberShift = 40;
inline constexpr std::uint64_t kBytes = (std::uint64_t{1} << kMemberShift) - 1;

constexpr std::uint64_t about(FormId form, std::uint16_t member, std::size_t bytes) noexcept {
  return static_cast<std::uint64_t>(form) << kFormShift | std::uint64_t{member} << kMemberShift | bytes;
}

/// Stands before its content.
struct Store::StoreEntry {
  std::uint64_t low = 0;  // of the identity
  std::uint64_t state = 0;
  std::atomic<std::uint64_t> about = 0;
  std::uint32_t high = 0;  // of the identity, its upper half
  float saved_ns = 0;

  FormId form() const noexcept { return static_cast<FormId>(about.load(std::memory_order_relaxed) >> kFormShift); }
  std::uint16_t member() const noexcept {
    return static_cast<std::uint16_t>(about.load(std::memory_order_relaxed) >> kMemberShift & (Members::kMost - 1));
  }
  std::size_t bytes() const noexcept { return about.load(std::memory_order_relaxed) & kBytes; }
  std::size_t size() const noexcept { return size_of(form(), bytes()); }
  std::uint8_t* content() noexcept { return reinterpret_cast<std::uint8_t*>(this + 1); }
  bool is(const RecordIdentity& id) const noexcept {
    return low == id.low && high == static_cast<std::uint32_t>(id.high >> 32);
  }
  /// The logarithm of ns saved per byte, 0 to 63.
  std::size_t worth() const noexcept {
    const float ratio = saved_ns / static_cast<float>(std::max<std::size_t>(bytes(), 1));
    return ratio > 0 ? static_cast<std::size_t>(std::clamp(std::ilogb(ratio) + 32, 0, 63)) : 0;
  }

  static StoreEntry& of(std::uint64_t bits) noexcept {
    return *reinterpret_cast<StoreEntry*>(address_of(bits));  // NOLINT(performance-no-int-to-ptr): the word holds it
  }
};

}  // namespace drapps::cache
