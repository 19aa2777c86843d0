#include "drapps/kernel/jpeg/huffman.h"

#include <gtest/gtest.h>

#include <memory>
#include <utility>
#include <vector>

#include "drapps/kernel/jpeg/huffman_code_testing.h"
#include "drapps/kernel/jpeg/huffman_testing.h"

namespace drapps::kernel::jpeg {
namespace {

using huffman_testing::BitWriter;
using huffman_testing::Code;
using huffman_testing::Huffman;
using huffman_testing::Layout;
using Bytes = std::vector<std::uint8_t>;

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
