// What a training is kept as: its numbers one after another, written and read by one list of what there is.
//
// A training lists what it consists of in visit_memory(visit); ByteWriter and ByteReader are such visits.
#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

namespace drapps::rl {

class ByteWriter {
 public:
  template <class Number>
  void operator()(const Number& number) const {
    static_assert(std::is_arithmetic_v<Number>);
    put(&number, sizeof number);
  }
  void operator()(std::span<float> numbers) const { put(numbers.data(), numbers.size_bytes()); }
  template <class Number>
  void operator()(const std::vector<Number>& numbers) const {
    (*this)(std::uint64_t{numbers.size()});
    put(numbers.data(), numbers.size() * sizeof(Number));
  }
  std::vector<std::uint8_t> take() { return std::move(bytes_); }

 private:
  void put(const void* from, std::size_t size) const {
    const auto* at = static_cast<const std::uint8_t*>(from);
    bytes_.insert(bytes_.end(), at, at + size);
  }
  mutable std::vector<std::uint8_t> bytes_;
};

class ByteReader {
 public:
  explicit ByteReader(std::span<const std::uint8_t> bytes) : bytes_(bytes) {}
  template <class Number>
  void operator()(Number& number) const {
    static_assert(std::is_arithmetic_v<Number>);
    get(&number, sizeof number);
  }
  void operator()(std::span<float> numbers) const { get(numbers.data(), numbers.size_bytes()); }
  template <class Number>
  void operator()(std::vector<Number>& numbers) const {
    std::uint64_t count = 0;
    (*this)(count);
    good_ = good_ && count <= bytes_.size() / sizeof(Number);
    numbers.resize(good_ ? count : 0);
    get(numbers.data(), numbers.size() * sizeof(Number));
  }
  /// All of it was read, and nothing more.
  bool good() const noexcept { return good_ && bytes_.empty(); }

 private:
  void get(void* into, std::size_t size) const {
    good_ = good_ && size <= bytes_.size();
    if (!good_ || size == 0) return;
    std::memcpy(into, bytes_.data(), size);
    bytes_ = bytes_.subspan(size);
  }
  mutable std::span<const std::uint8_t> bytes_;
  mutable bool good_ = true;
};

}  // namespace drapps::rl
