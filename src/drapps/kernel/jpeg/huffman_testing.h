// What the tests of the Huffman decoder share: random codes and streams, and each decoded at every level as the
// standard says.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <random>
#include <vector>

#include "drapps/kernel/jpeg/huffman.h"
#include "drapps/kernel/jpeg/huffman_code_testing.h"

namespace drapps::kernel::jpeg::huffman_testing {

/// Which blocks an MCU has, and their codes by component.
struct Layout {
  std::vector<std::uint8_t> component;
  std::array<Code, 3> dc, ac;
};

inline const std::vector<std::vector<std::uint8_t>> kLayouts{
    {0}, {0, 1, 2}, {0, 0, 1, 2}, {0, 0, 0, 0, 1, 2}, {2, 1, 0, 0}};

/// Blocks with a border behind each that nothing may touch.
class Output {
 public:
  static constexpr std::size_t kBorder = 256, kStride = 64 + kBorder;
  static constexpr std::int16_t kUntouched = 0x5A5A;

  Output(std::size_t blocks, std::size_t mcus)
      : blocks_(blocks), mcus_(mcus), memory_(new(std::align_val_t{64}) std::int16_t[blocks * mcus * kStride]) {
    std::fill_n(memory_, blocks * mcus * kStride, kUntouched);
  }
  ~Output() { ::operator delete[](memory_, std::align_val_t{64}); }
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;

  /// The blocks of one number stand together, as they do in a decoder.
  BlockTargets targets() const {
    BlockTargets targets{};
    for (std::size_t b = 0; b < blocks_; ++b) {
      targets.at[b] = memory_ + b * mcus_ * kStride;
      targets.step[b] = kStride;
    }
    return targets;
  }
  const std::int16_t* block(std::size_t mcu, std::size_t b) const { return memory_ + (b * mcus_ + mcu) * kStride; }
  bool borders_are_untouched() const {
    for (std::size_t i = 0; i < blocks_ * mcus_; ++i) {
      const std::int16_t* border = memory_ + i * kStride + 64;
      if (std::any_of(border, border + kBorder, [](std::int16_t v) { return v != kUntouched; })) return false;
    }
    return true;
  }

 private:
  std::size_t blocks_, mcus_;
  std::int16_t* memory_;
};

class Huffman : public ::testing::Test {
 protected:
  int pick(int low, int high) { return std::uniform_int_distribution(low, high)(random_); }

  /// Symbols in any order under code lengths of any kind; between two and all symbols that 8-bit pictures have.
  Code random_code(CodeClass kind) {
    Code code;
    for (int s = 0; s < (kind == CodeClass::kDc ? 12 : 256); ++s) {
      if ((s & 15) <= (kind == CodeClass::kDc ? 11 : 10)) code.symbols.push_back(static_cast<std::uint8_t>(s));
    }
    std::shuffle(code.symbols.begin(), code.symbols.end(), random_);
    const auto all = static_cast<int>(code.symbols.size());
    const int wanted = pick(0, 2) == 0 ? pick(2, 6) : pick(2, all);
    const int shortest = pick(1, wanted > 200 ? 9 : 5), generosity = pick(1, 4);
    int room = 1, left = wanted;
    for (int length = 1; length <= 16 && left > 0; ++length) {
      room *= 2;
      if (length < shortest) continue;
      const int most = std::min({left, room - 1, 255});
      const int count = length == 16 ? most : std::min(most, pick(0, std::max(1, most / generosity)));
      code.counts[static_cast<std::size_t>(length) - 1] = static_cast<std::uint8_t>(count);
      room -= count;
      left -= count;
    }
    code.symbols.resize(static_cast<std::size_t>(wanted - left));
    return code;
  }

  /// A code that nearly all bits are of: what is left over is one code of ones.
  Code random_dense_code(CodeClass kind) {
    Code code;
    int room = 1, left = 256;
    for (int length = 1, last = pick(2, 14); length <= last; ++length) {
      room *= 2;
      const int count = std::min({left, room - 1, 255, length == last ? room : pick(0, room / 2)});
      code.counts[static_cast<std::size_t>(length) - 1] = static_cast<std::uint8_t>(count);
      room -= count;
      left -= count;
      for (int i = 0; i < count; ++i) {
        const int symbol = kind == CodeClass::kDc ? pick(0, 11) : pick(0, 15) << 4 | pick(0, 10);
        code.symbols.push_back(static_cast<std::uint8_t>(symbol));
      }
    }
    return code;
  }

  Layout random_layout(bool dense) {
    Layout layout{.component = kLayouts[static_cast<std::size_t>(pick(0, static_cast<int>(kLayouts.size()) - 1))]};
    for (Code& code : layout.dc) code = dense ? random_dense_code(CodeClass::kDc) : random_code(CodeClass::kDc);
    for (Code& code : layout.ac) code = dense ? random_dense_code(CodeClass::kAc) : random_code(CodeClass::kAc);
    return layout;
  }

  /// MCUs of symbols drawn evenly from the codes, so that the long ones come too.
  Bytes random_stream(const Layout& layout, int mcus) {
    BitWriter out;
    for (int i = 0; i < mcus; ++i) {
      for (const std::uint8_t c : layout.component) {
        const auto draw = [&](const Code& code) {
          const auto place = static_cast<std::size_t>(pick(0, static_cast<int>(code.symbols.size()) - 1));
          out.put(code, place);
          const int size = code.symbols[place] & 15;
          out.put(static_cast<std::uint32_t>(pick(0, (1 << size) - 1)), size);
          return static_cast<int>(code.symbols[place]);
        };
        draw(layout.dc[c]);
        for (int k = 1; k < 64;) {
          const int symbol = draw(layout.ac[c]);
          if ((symbol & 15) == 0 && symbol != 0xF0) break;
          k += (symbol >> 4) + 1;
        }
      }
    }
    return out.bytes();
  }

  /// Decodes, skips and decodes in pairs at every level, and compares with the reference. Returns whether that could
  /// decode all.
  bool expect_as_reference(const Layout& layout, const Bytes& bytes, std::size_t mcus, Cursor begin = {}) {
    const std::size_t blocks = layout.component.size();
    std::vector<std::int16_t> expected(mcus * blocks * 64);
    Cursor end = begin;
    Cursor middle;  // before the second half
    const std::size_t half = mcus / 2;
    Reference reference(bytes, begin.bit);
    bool good = true;
    for (std::size_t i = 0; i < mcus * blocks && good; ++i) {
      if (i == half * blocks) middle = {reference.position(), end.dc};
      const std::uint8_t c = layout.component[i % blocks];
      good = reference.block(layout.dc[c], layout.ac[c], end.dc[c], &expected[i * 64]);
    }
    end.bit = reference.position();

    std::array<std::unique_ptr<HuffmanTable>, 3> dc, ac;
    for (std::size_t c = 0; c < 3; ++c) {
      dc[c] = std::make_unique<HuffmanTable>();
      ac[c] = std::make_unique<HuffmanTable>();
      EXPECT_TRUE(make_table(*dc[c], CodeClass::kDc, layout.dc[c].bytes()));
      EXPECT_TRUE(make_table(*ac[c], CodeClass::kAc, layout.ac[c].bytes()));
    }
    // On the heap and no longer than promised, so that the address sanitizer sees every read beyond.
    const std::size_t padded = bytes.size() + kScanPadding;
    const std::unique_ptr<std::uint8_t[]> data(new std::uint8_t[padded]());
    std::copy(bytes.begin(), bytes.end(), data.get());
    Scan scan{.data = data.get(), .size = bytes.size(), .blocks = blocks};
    for (std::size_t b = 0; b < blocks; ++b) {
      const std::uint8_t c = layout.component[b];
      scan.block[b] = {c, dc[c].get(), ac[c].get()};
    }

    for (const Level level : supported_levels()) {
      SCOPED_TRACE(name_of(level));
      Cursor cursor = begin;
      Output output(blocks, mcus);
      EXPECT_EQ(decode_mcus(scan, cursor, mcus, output.targets(), level), good);
      EXPECT_TRUE(output.borders_are_untouched());
      if (good) expect_result(expected, output, blocks, mcus, cursor, end);

      cursor = begin;
      EXPECT_EQ(skip_mcus(scan, cursor, mcus, level), good);
      if (good) {
        EXPECT_EQ(cursor.bit, end.bit);
        EXPECT_EQ(cursor.dc, end.dc);
      }
      if (!good || half == 0) continue;

      Cursor first = begin, second = middle;
      const Output both(blocks, 2 * half);
      BlockTargets top = both.targets(), bottom = both.targets();
      for (std::size_t b = 0; b < blocks; ++b) bottom.at[b] += static_cast<std::ptrdiff_t>(half) * bottom.step[b];
      EXPECT_TRUE(decode_two(scan, {&first, &second}, half, {top, bottom}, level));
      EXPECT_TRUE(both.borders_are_untouched());
      if (mcus % 2 == 0) expect_result(expected, both, blocks, mcus, second, end);
      EXPECT_EQ(first.bit, middle.bit);
      EXPECT_EQ(first.dc, middle.dc);
      // The second one alone is bad where the data ends within it; the first is not hurt by that.
      Scan cut = scan;
      cut.size = (static_cast<std::size_t>(second.bit) - 1) / 8;
      Cursor again = begin, beyond = middle;
      EXPECT_FALSE(decode_two(cut, {&again, &beyond}, half, {top, bottom}, level));
      EXPECT_FALSE(decode_two(cut, {&beyond, &again}, half, {top, bottom}, level));
    }
    return good;
  }

  void expect_result(const std::vector<std::int16_t>& expected, const Output& output, std::size_t blocks,
                     std::size_t mcus, const Cursor& cursor, const Cursor& end) {
    EXPECT_EQ(cursor.bit, end.bit);
    EXPECT_EQ(cursor.dc, end.dc);
    for (std::size_t i = 0; i < mcus * blocks; ++i) {
      const std::int16_t* const block = output.block(i / blocks, i % blocks);
      ASSERT_TRUE(std::equal(block, block + 64, &expected[i * 64])) << "block " << i;
    }
  }

  std::mt19937 random_{7};
};

}  // namespace drapps::kernel::jpeg::huffman_testing
