// Huffman codes for tests: what writes their symbols, and what reads them as the standard says.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "drapps/kernel/jpeg/zigzag.h"

namespace drapps::kernel::jpeg::huffman_testing {

using Bytes = std::vector<std::uint8_t>;

/// A code as a DHT segment has it.
struct Code {
  std::array<std::uint8_t, 16> counts{};
  Bytes symbols;

  Bytes bytes() const {
    Bytes all(counts.begin(), counts.end());
    all.insert(all.end(), symbols.begin(), symbols.end());
    return all;
  }
};

/// Bits, the highest of a byte first.
class BitWriter {
 public:
  void put(std::uint32_t bits, int count) {
    for (int i = count - 1; i >= 0; --i, ++size_) {
      if (size_ % 8 == 0) bytes_.push_back(0);
      bytes_.back() = static_cast<std::uint8_t>(bytes_.back() | (bits >> i & 1) << (7 - size_ % 8));
    }
  }
  /// Symbol number `place` of a code.
  void put(const Code& code, std::size_t place) {
    std::uint32_t next = 0;
    std::size_t used = 0;
    for (int length = 1; length <= 16; ++length, next <<= 1) {
      const std::size_t count = code.counts[static_cast<std::size_t>(length) - 1];
      if (place < used + count) return put(next + static_cast<std::uint32_t>(place - used), length);
      next += static_cast<std::uint32_t>(count);
      used += count;
    }
  }
  std::size_t size() const { return size_; }
  const Bytes& bytes() const { return bytes_; }

 private:
  Bytes bytes_;
  std::size_t size_ = 0;
};

/// T.81, F.2.2, one bit after the other, and libjpeg's way with runs that are too long.
class Reference {
 public:
  Reference(const Bytes& data, std::size_t bit) : data_(data), bit_(bit) {}

  /// Into 64 coefficients; false for bits that are no code, and behind the end of the data.
  bool block(const Code& dc, const Code& ac, std::int32_t& predictor, std::int16_t* out) {
    std::fill_n(out, 64, std::int16_t{0});
    const std::optional<int> category = symbol(dc);
    if (!category) return false;
    predictor += value(*category);
    out[0] = static_cast<std::int16_t>(predictor);
    for (int k = 1; k < 64; ++k) {
      const std::optional<int> run_size = symbol(ac);
      if (!run_size) return false;
      const int run = *run_size >> 4, size = *run_size & 15;
      if (size == 0 && run != 15) break;
      k += run;
      const int coefficient = value(size);
      if (size != 0) out[kZigzag[static_cast<std::size_t>(std::min(k, 63))]] = static_cast<std::int16_t>(coefficient);
    }
    return bit_ <= data_.size() * 8;
  }
  std::size_t position() const { return bit_; }

 private:
  int bit() {
    const std::size_t at = bit_++;
    return at / 8 < data_.size() ? data_[at / 8] >> (7 - at % 8) & 1 : 0;
  }
  std::optional<int> symbol(const Code& code) {
    int bits = 0, first = 0;
    std::size_t used = 0;
    for (const std::uint8_t count : code.counts) {
      bits = bits << 1 | bit();
      if (bits - first < count) return code.symbols[used + static_cast<std::size_t>(bits - first)];
      first = (first + count) << 1;
      used += count;
    }
    return std::nullopt;
  }
  int value(int size) {
    int read = 0;
    for (int i = 0; i < size; ++i) read = read << 1 | bit();
    return size != 0 && read < 1 << (size - 1) ? read - (1 << size) + 1 : read;
  }

  const Bytes& data_;
  std::size_t bit_;
};

}  // namespace drapps::kernel::jpeg::huffman_testing
