#include "drapps/cache/form/filter.h"

#include <cstring>

namespace drapps::cache {
namespace {

template <std::size_t kElement>
void shuffle(std::span<const std::uint8_t> in, std::uint8_t* out) noexcept {
  const std::size_t count = in.size() / kElement;
  for (std::size_t byte = 0; byte < kElement; ++byte) {
    for (std::size_t i = 0; i < count; ++i) out[byte * count + i] = in[i * kElement + byte];
  }
}

template <std::size_t kElement>
void unshuffle(std::span<const std::uint8_t> in, std::uint8_t* out) noexcept {
  const std::size_t count = in.size() / kElement;
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t byte = 0; byte < kElement; ++byte) out[i * kElement + byte] = in[byte * count + i];
  }
}

template <class Element>
Element at(const std::uint8_t* bytes, std::size_t i) noexcept {
  Element value;
  std::memcpy(&value, bytes + i * sizeof value, sizeof value);
  return value;
}

template <class Element>
void put(std::uint8_t* bytes, std::size_t i, Element value) noexcept {
  std::memcpy(bytes + i * sizeof value, &value, sizeof value);
}

template <class Element>
void subtract(std::size_t row_bytes, std::span<const std::uint8_t> in, std::uint8_t* out) noexcept {
  const std::size_t count = row_bytes / sizeof(Element);
  for (std::size_t row = 0; row < in.size(); row += row_bytes) {
    const std::uint8_t* const from = in.data() + row;
    put(out + row, 0, at<Element>(from, 0));
    for (std::size_t i = 1; i < count; ++i) {
      put(out + row, i, static_cast<Element>(at<Element>(from, i) - at<Element>(from, i - 1)));
    }
  }
}

template <class Element>
void add_up(std::size_t row_bytes, std::span<std::uint8_t> rows) noexcept {
  const std::size_t count = row_bytes / sizeof(Element);
  for (std::size_t row = 0; row < rows.size(); row += row_bytes) {
    Element sum = 0;
    for (std::size_t i = 0; i < count; ++i) {
      sum = static_cast<Element>(sum + at<Element>(rows.data() + row, i));
      put(rows.data() + row, i, sum);
    }
  }
}

}  // namespace

void apply(ByteFilter filter, const FilteredRows& rows, std::span<const std::uint8_t> in,
           std::span<std::uint8_t> out) noexcept {
  if (filter == ByteFilter::kDifferences && rows.element == 1)
    return subtract<std::uint8_t>(rows.row_bytes, in, out.data());
  if (filter == ByteFilter::kDifferences) {
    // The low bytes of the differences, then the high ones.
    const std::size_t count = in.size() / 2;
    const std::size_t across = rows.row_bytes / 2;
    for (std::size_t i = 0; i < count; ++i) {
      const auto before = i % across == 0 ? std::uint16_t{0} : at<std::uint16_t>(in.data(), i - 1);
      const auto difference = static_cast<std::uint16_t>(at<std::uint16_t>(in.data(), i) - before);
      out[i] = static_cast<std::uint8_t>(difference & 0xFF);
      out[count + i] = static_cast<std::uint8_t>(difference >> 8);
    }
    return;
  }
  switch (filter == ByteFilter::kShuffle ? rows.element : 1) {
    case 2: return shuffle<2>(in, out.data());
    case 4: return shuffle<4>(in, out.data());
    case 8: return shuffle<8>(in, out.data());
    default: std::memcpy(out.data(), in.data(), in.size());
  }
}

void undo(ByteFilter filter, const FilteredRows& rows, std::span<const std::uint8_t> in,
          std::span<std::uint8_t> out) noexcept {
  switch (filter == ByteFilter::kNone ? 1 : rows.element) {
    case 2: unshuffle<2>(in, out.data()); break;
    case 4: unshuffle<4>(in, out.data()); break;
    case 8: unshuffle<8>(in, out.data()); break;
    default: std::memcpy(out.data(), in.data(), in.size());
  }
  if (filter != ByteFilter::kDifferences) return;
  rows.element == 1 ? add_up<std::uint8_t>(rows.row_bytes, out) : add_up<std::uint16_t>(rows.row_bytes, out);
}

}  // namespace drapps::cache
