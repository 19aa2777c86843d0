// Numbers and texts as bytes of a trace: variable-length integers of seven bits a byte, the lowest first (LEB128).
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace drapps::trace {

using Bytes = std::vector<std::uint8_t>;

/// 0, -1, 1, -2, … become 0, 1, 2, 3, …
constexpr std::uint64_t zig_zag(std::uint64_t difference) noexcept {
  return difference << 1 ^ (difference >> 63 != 0 ? ~std::uint64_t{0} : 0);
}
constexpr std::uint64_t un_zig_zag(std::uint64_t number) noexcept {
  return number >> 1 ^ ((number & 1) != 0 ? ~std::uint64_t{0} : 0);
}

inline void put_number(Bytes& out, std::uint64_t number) {
  for (; number >= 0x80; number >>= 7) out.push_back(static_cast<std::uint8_t>(number | 0x80));
  out.push_back(static_cast<std::uint8_t>(number));
}
inline void put_difference(Bytes& out, std::uint64_t now, std::uint64_t before) {
  put_number(out, zig_zag(now - before));
}
inline void put_fixed32(Bytes& out, std::uint32_t number) {
  for (int shift = 0; shift < 32; shift += 8) out.push_back(static_cast<std::uint8_t>(number >> shift));
}
inline void put_fixed64(Bytes& out, std::uint64_t number) {
  for (int shift = 0; shift < 64; shift += 8) out.push_back(static_cast<std::uint8_t>(number >> shift));
}
inline void put_text(Bytes& out, std::string_view text) {
  put_number(out, text.size());
  out.insert(out.end(), text.begin(), text.end());
}

/// Reads what was put. Bytes that are no such thing give zeros, and ok() is false from there on.
class ByteCursor {
 public:
  explicit ByteCursor(std::span<const std::uint8_t> bytes) noexcept : bytes_(bytes) {}

  bool ok() const noexcept { return ok_; }
  /// Whether all was read, and was what it should be.
  bool done() const noexcept { return ok_ && bytes_.empty(); }
  bool empty() const noexcept { return bytes_.empty(); }
  void fail() noexcept { ok_ = false; }

  std::uint8_t byte() noexcept {
    if (!ok_ || bytes_.empty()) return fail(), std::uint8_t{0};
    const std::uint8_t first = bytes_.front();
    bytes_ = bytes_.subspan(1);
    return first;
  }
  std::uint64_t number() noexcept {
    std::uint64_t number = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      const std::uint8_t next = byte();
      if (shift == 63 && next > 1) break;
      number |= static_cast<std::uint64_t>(next & 0x7F) << shift;
      if (next < 0x80) return ok_ ? number : 0;
    }
    fail();
    return 0;
  }
  /// A number that is `most` at most.
  std::uint64_t number_to(std::uint64_t most) noexcept {
    const std::uint64_t read = number();
    if (read > most) return fail(), std::uint64_t{0};
    return read;
  }
  std::uint64_t difference(std::uint64_t before) noexcept { return before + un_zig_zag(number()); }
  std::uint64_t fixed(int bytes) noexcept {
    std::uint64_t number = 0;
    for (int i = 0; i < bytes; ++i) number |= static_cast<std::uint64_t>(byte()) << 8 * i;
    return number;
  }
  std::span<const std::uint8_t> take(std::uint64_t size) noexcept {
    if (!ok_ || size > bytes_.size()) return fail(), std::span<const std::uint8_t>{};
    const auto taken = bytes_.first(static_cast<std::size_t>(size));
    bytes_ = bytes_.subspan(taken.size());
    return taken;
  }
  std::string text() {
    const auto bytes = take(number());
    return {bytes.begin(), bytes.end()};
  }

 private:
  std::span<const std::uint8_t> bytes_;
  bool ok_ = true;
};

}  // namespace drapps::trace
