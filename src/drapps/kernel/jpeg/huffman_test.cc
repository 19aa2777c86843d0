#include "drapps/kernel/jpeg/huffman.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <random>
#include <vector>

#include "drapps/kernel/jpeg/zigzag.h"

namespace drapps::kernel::jpeg {
namespace {

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
      const int found = value(size);
      if (size != 0) out[kZigzag[static_cast<std::size_t>(std::min(k, 63))]] = static_cast<std::int16_t>(found);
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
    int found = 0, first = 0;
    std::size_t used = 0;
    for (const std::uint8_t count : code.counts) {
      found = found << 1 | bit();
      if (found - first < count) return code.symbols[used + static_cast<std::size_t>(found - first)];
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

/// Which blocks an MCU has, and their codes by component.
struct Layout {
  std::vector<std::uint8_t> component;
  std::array<Code, 3> dc, ac;
};

const std::vector<std::vector<std::uint8_t>> kLayouts{{0}, {0, 1, 2}, {0, 0, 1, 2}, {0, 0, 0, 0, 1, 2}, {2, 1, 0, 0}};

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

/// A code with one symbol of each length given, shortest first.
Code code_of(const std::vector<std::pair<int, int>>& length_and_symbol) {
  Code code;
  for (const auto& [length, symbol] : length_and_symbol) {
    ++code.counts[static_cast<std::size_t>(length) - 1];
    code.symbols.push_back(static_cast<std::uint8_t>(symbol));
  }
  return code;
}

Layout gray(const Code& dc, const Code& ac) { return {.component = {0}, .dc = {dc, dc, dc}, .ac = {ac, ac, ac}}; }

bool is_table(CodeClass kind, const Bytes& bytes) {
  const auto table = std::make_unique<HuffmanTable>();
  return make_table(*table, kind, bytes);
}

Bytes table_bytes(const std::vector<std::pair<int, int>>& length_and_count, std::size_t symbols) {
  Bytes bytes(16);
  for (const auto& [length, count] : length_and_count)
    bytes[static_cast<std::size_t>(length) - 1] = static_cast<std::uint8_t>(count);
  bytes.resize(16 + symbols, 1);
  return bytes;
}

TEST_F(Huffman, TablesThatLibjpegRefusesAreRefused) {
  for (const CodeClass kind : {CodeClass::kDc, CodeClass::kAc}) {
    EXPECT_TRUE(is_table(kind, table_bytes({{1, 1}}, 1)));
    EXPECT_FALSE(is_table(kind, table_bytes({{1, 2}}, 2)));          // all ones
    EXPECT_FALSE(is_table(kind, table_bytes({{1, 1}, {2, 2}}, 3)));  // all ones
    EXPECT_TRUE(is_table(kind, table_bytes({{1, 1}, {2, 1}}, 2)));
    EXPECT_FALSE(is_table(kind, table_bytes({{2, 5}}, 5)));  // more than there is room for
    EXPECT_FALSE(is_table(kind, table_bytes({{1, 1}, {3, 4}}, 5)));
    EXPECT_TRUE(is_table(kind, table_bytes({{1, 1}, {3, 3}}, 4)));
    EXPECT_TRUE(is_table(kind, table_bytes({{16, 255}}, 255)));
    EXPECT_TRUE(is_table(kind, table_bytes({{9, 255}, {16, 1}}, 256)));
    EXPECT_FALSE(is_table(kind, table_bytes({{9, 255}, {10, 1}, {16, 1}}, 257)));  // more symbols than bytes
    EXPECT_FALSE(is_table(kind, table_bytes({{3, 3}}, 2)));                        // fewer symbols than codes
    EXPECT_FALSE(is_table(kind, Bytes(15)));
    EXPECT_FALSE(is_table(kind, {}));
  }
}

TEST_F(Huffman, ATableWithoutCodesDecodesNothing) {
  EXPECT_TRUE(is_table(CodeClass::kDc, Bytes(16)));
  EXPECT_FALSE(expect_as_reference(gray({}, code_of({{1, 0}})), Bytes(40), 1));
  EXPECT_FALSE(expect_as_reference(gray(code_of({{1, 0}}), {}), Bytes(40), 1));
}

TEST_F(Huffman, SymbolsThatPicturesOf8BitsCannotNeedAreRefused) {
  for (int symbol = 0; symbol < 256; ++symbol) {
    const Bytes bytes = code_of({{3, 1}, {16, symbol}}).bytes();
    EXPECT_EQ(is_table(CodeClass::kDc, bytes), symbol <= 11) << symbol;
    EXPECT_EQ(is_table(CodeClass::kAc, bytes), (symbol & 15) <= 10) << symbol;
  }
}

TEST_F(Huffman, RandomSymbolsUnderRandomCodesDecodeAsTheStandardSays) {
  int good = 0;
  for (int i = 0; i < 1500; ++i) {
    SCOPED_TRACE(i);
    const Layout layout = random_layout(false);
    const int mcus = pick(1, 9);
    good += expect_as_reference(layout, random_stream(layout, mcus), static_cast<std::size_t>(mcus));
    if (HasFailure()) return;
  }
  EXPECT_EQ(good, 1500);
}

TEST_F(Huffman, RandomBitsDecodeAsTheStandardSays) {
  int good = 0;
  for (int i = 0; i < 1500; ++i) {
    SCOPED_TRACE(i);
    Bytes bytes(static_cast<std::size_t>(pick(0, 300)));
    for (std::uint8_t& byte : bytes) byte = static_cast<std::uint8_t>(pick(0, 255));
    Cursor begin{.bit = static_cast<std::uint64_t>(pick(0, static_cast<int>(8 * bytes.size())))};
    begin.dc = {pick(-3000, 3000), pick(-3000, 3000), pick(-3000, 3000)};
    good += expect_as_reference(random_layout(true), bytes, static_cast<std::size_t>(pick(1, 8)), begin);
    if (HasFailure()) return;
  }
  EXPECT_GT(good, 100);
  EXPECT_LT(good, 1400);
}

TEST_F(Huffman, EveryTruncationFailsAndNothingElseDoes) {
  for (int i = 0; i < 12; ++i) {
    const Layout layout = random_layout(false);
    const Bytes stream = random_stream(layout, 2);
    for (std::size_t size = 0; size <= stream.size(); ++size) {
      SCOPED_TRACE(size);
      EXPECT_EQ(
          expect_as_reference(layout, Bytes(stream.begin(), stream.begin() + static_cast<std::ptrdiff_t>(size)), 2),
          size == stream.size());
      if (HasFailure()) return;
    }
  }
}

TEST_F(Huffman, BlocksEndAtTheirLastCoefficientWithoutAnEnd) {
  // 63 coefficients each, with a second code in the same look that belongs to the next block.
  const Code dc = code_of({{1, 0}, {2, 3}}), ac = code_of({{1, 1}, {2, 0}, {3, 0xE1}, {4, 0x0A}});
  for (int phase = 0; phase < 7; ++phase) {
    BitWriter out;
    for (int block = 0; block < 10; ++block) {
      out.put(dc, static_cast<std::size_t>(block % 2));
      if (block % 2 == 1) out.put(static_cast<std::uint32_t>(block % 8), 3);
      for (int k = 1; k < 64; ++k) {
        const std::size_t place = (k + phase) % 7 == 0 ? 3 : 0;
        out.put(ac, place);
        out.put(static_cast<std::uint32_t>(k), place == 3 ? 10 : 1);
      }
    }
    EXPECT_TRUE(expect_as_reference(gray(dc, ac), out.bytes(), 10));
  }
}

TEST_F(Huffman, RunsPastTheEndOfABlockEndItWhereverTheyBegin) {
  // Runs of each length from each coefficient, in one look with what follows: an end, a run, a value.
  for (const int size : {0, 1, 10}) {
    const Code dc = code_of({{1, 0}});
    for (int run = 0; run < 16; ++run) {
      if (size == 0 && run != 15) continue;
      for (const int after : {0, 1, 0xF0, 0xF1}) {
        const Code ac = code_of({{1, 1}, {2, run << 4 | size}, {3, after}, {4, 0}});
        for (int begin = 1; begin < 64; ++begin) {
          BitWriter out;
          for (int block = 0; block < 2; ++block) {
            out.put(dc, 0);
            for (int k = 1; k < begin; ++k) {
              out.put(ac, 0);
              out.put(1, 1);
            }
            out.put(ac, 1);
            out.put(static_cast<std::uint32_t>(begin), size);
          }
          for (int i = 0; i < 8; ++i) {
            out.put(ac, 2);
            out.put(1, after & 15);
          }
          for (int i = 0; i < 200; ++i) out.put(ac, 3);
          SCOPED_TRACE(::testing::Message()
                       << "run " << run << " size " << size << " from " << begin << " then " << after);
          expect_as_reference(gray(dc, ac), out.bytes(), 2);
          if (HasFailure()) return;
        }
      }
    }
  }
}

TEST_F(Huffman, TheLongestCodesAndValuesFillABlock) {
  // 27 bits for DC and 63 times 26 for AC: the most that a block can take.
  Code dc = code_of({{16, 11}}), ac = code_of({{16, 10}});
  for (int blocks : {1, 2, 5}) {
    BitWriter out;
    for (int i = 0; i < blocks; ++i) {
      out.put(dc, 0);
      out.put(static_cast<std::uint32_t>(pick(0, 2047)), 11);
      for (int k = 1; k < 64; ++k) {
        out.put(ac, 0);
        out.put(static_cast<std::uint32_t>(pick(0, 1023)), 10);
      }
    }
    EXPECT_TRUE(expect_as_reference(gray(dc, ac), out.bytes(), static_cast<std::size_t>(blocks)));
    // The padding alone decodes so, too, and must not be left.
    EXPECT_FALSE(expect_as_reference(gray(dc, ac), out.bytes(), static_cast<std::size_t>(blocks) + 3));
  }
}

TEST_F(Huffman, PredictorsRunOnFromAnyCursor) {
  const Code dc = code_of({{1, 11}}), ac = code_of({{1, 0}});
  BitWriter out;
  out.put(5, 3);  // some bits to begin behind
  for (int i = 0; i < 40; ++i) {
    out.put(dc, 0);
    out.put(2047, 11);
    out.put(ac, 0);
  }
  // Coefficients of 16 bits wrap, as they do in libjpeg.
  EXPECT_TRUE(expect_as_reference(gray(dc, ac), out.bytes(), 40, {.bit = 3, .dc = {-100, 0, 0}}));
}

}  // namespace
}  // namespace drapps::kernel::jpeg
