// Bytes of pretokens and tokens as words of the machine, and their hash.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace drapps::text {

/// What is kept of 16 bytes to have the first few of them.
struct WordMask {
  std::uint64_t low;
  std::uint64_t high;
};
inline constexpr std::array<WordMask, 16> kWordMasks = [] {
  std::array<WordMask, 16> masks{};
  for (std::size_t size = 1; size < masks.size(); ++size) {
    masks[size].low = ~std::uint64_t{0} >> (size < 8 ? 64 - 8 * size : 0);
    masks[size].high = size > 8 ? ~std::uint64_t{0} >> (128 - 8 * size) : 0;
  }
  return masks;
}();

/// The bytes of a short pretoken, padded with zeros, its size in the last byte: equal where the pretokens are.
struct WordKey {
  static constexpr std::size_t kMaxSize = 15;

  std::uint64_t low = 0;
  std::uint64_t high = 0;

  /// The key of `size` bytes at `p`; one that no pretoken has where they are too many. Up to `end`, 16 bytes are read.
  static WordKey of(const std::uint8_t* p, std::size_t size, const std::uint8_t* end) noexcept {
    size = size <= kMaxSize ? size : 0;
    WordKey key;
    if (end - p >= 16) [[likely]] {
      std::memcpy(&key.low, p, 8);
      std::memcpy(&key.high, p + 8, 8);
    } else {
      std::uint8_t copy[16] = {};
      std::memcpy(copy, p, size);
      std::memcpy(&key.low, copy, 8);
      std::memcpy(&key.high, copy + 8, 8);
    }
    key.low &= kWordMasks[size].low;
    key.high = (key.high & kWordMasks[size].high) | std::uint64_t{size} << 56;
    return key;
  }
  /// A key that no short pretoken has, which holds the hash of a long one.
  static WordKey of_long(std::uint64_t hash) noexcept { return {hash, 1}; }
  /// The key of the same bytes as a part of a pretoken, which may have other ids.
  WordKey as_part(bool part = true) const noexcept { return {low, high | (part ? kPart : 0)}; }
  bool is_part() const noexcept { return (high & kPart) != 0; }
  /// Whether it has 1 to kMaxSize bytes.
  bool is_short() const noexcept { return (high & ~kPart) >> 56 != 0; }
  /// All of its bytes are ASCII.
  bool is_ascii() const noexcept {
    constexpr std::uint64_t kHighBits = 0x8080808080808080U;
    return ((low & kHighBits) | (high & kHighBits >> 8)) == 0;
  }
  static constexpr std::uint64_t kPart = std::uint64_t{1} << 63;
  static constexpr std::uint64_t kHighFactor = 0x9FB21C651E98DF25U;
  static constexpr std::uint64_t kFactor = 0x9E3779B97F4A7C15U;
  std::uint64_t hash() const noexcept {
    const std::uint64_t mixed = (low ^ (high * kHighFactor)) * kFactor;
    return mixed ^ mixed >> 32;
  }
  /// hash_bytes() of its bytes.
  std::uint64_t hash_of_bytes() const noexcept { return is_short() ? WordKey{low, high & ~kPart}.hash() : low; }
  bool is(const WordKey& other) const noexcept { return ((low ^ other.low) | (high ^ other.high)) == 0; }
};

/// A hash of a few bytes, of short ones that of their key; not for what an attacker may choose.
inline std::uint64_t hash_bytes(std::string_view bytes) noexcept {
  if (bytes.size() <= WordKey::kMaxSize) {
    const auto* const p = reinterpret_cast<const std::uint8_t*>(bytes.data());
    return WordKey::of(p, bytes.size(), p + bytes.size()).hash();
  }
  std::uint64_t hash = bytes.size() * WordKey::kFactor;
  const char* p = bytes.data();
  std::size_t left = bytes.size();
  for (; left >= 8; left -= 8, p += 8) {
    std::uint64_t word;
    std::memcpy(&word, p, 8);
    hash = std::rotl((hash ^ word) * WordKey::kHighFactor, 29);
  }
  std::uint64_t word = 0;
  std::memcpy(&word, p, left);
  hash = (hash ^ word) * WordKey::kHighFactor;
  return (hash ^ hash >> 32) * WordKey::kFactor;
}

}  // namespace drapps::text
