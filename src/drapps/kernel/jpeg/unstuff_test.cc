#include "drapps/kernel/jpeg/unstuff.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <random>
#include <vector>

#include "drapps/data/buffer.h"

namespace drapps::kernel::jpeg {
namespace {

using Bytes = std::vector<std::uint8_t>;

/// Compares every level with what T.81, B.1.1.5 says.
void expect_as_the_standard_says(const Bytes& in) {
  Bytes expected;
  std::size_t read = 0;
  while (read < in.size()) {
    const bool ff = in[read] == 0xFF;
    if (ff && (read + 1 == in.size() || in[read + 1] != 0)) break;
    expected.push_back(in[read]);
    read += ff ? 2 : 1;
  }
  // Both on the heap and no longer than promised, so that the address sanitizer sees every access beyond.
  const std::unique_ptr<std::uint8_t[]> source(new std::uint8_t[in.size()]);
  std::copy(in.begin(), in.end(), source.get());
  for (const Level level : supported_levels()) {
    SCOPED_TRACE(name_of(level));
    Bytes out(in.size() + kPadding, 0xEE);
    const Unstuffed result = unstuff(out.data(), source.get(), in.size(), level);
    EXPECT_EQ(result.read, read);
    ASSERT_EQ(result.written, expected.size());
    EXPECT_TRUE(std::equal(expected.begin(), expected.end(), out.begin()));
  }
}

TEST(Unstuff, PairsAndMarkersAreFoundAtEveryPlace) {
  for (const std::size_t size : {0u, 1u, 2u, 63u, 64u, 65u, 66u, 127u, 128u, 129u, 200u}) {
    SCOPED_TRACE(size);
    Bytes plain(size);
    for (std::size_t i = 0; i < size; ++i) plain[i] = static_cast<std::uint8_t>(i % 255);
    expect_as_the_standard_says(plain);
    for (std::size_t at = 0; at < size; ++at) {
      for (const int next : {0x00, 0x01, 0xD0, 0xD9, 0xFF}) {
        Bytes changed = plain;
        changed[at] = 0xFF;
        if (at + 1 < size) changed[at + 1] = static_cast<std::uint8_t>(next);
        expect_as_the_standard_says(changed);
      }
    }
  }
}

TEST(Unstuff, PairsStandBesideEachOtherInEveryPhase) {
  for (std::size_t size = 120; size < 270; ++size) {
    for (const std::size_t phase : {0u, 1u}) {
      Bytes bytes(size, 0x5A);
      for (std::size_t i = phase; i + 1 < size; i += 2) {
        bytes[i] = 0xFF;
        bytes[i + 1] = 0;
      }
      expect_as_the_standard_says(bytes);
      for (std::size_t marker = phase; marker + 1 < size; marker += 10) {
        Bytes ended = bytes;
        ended[marker + 1] = 0xD3;
        expect_as_the_standard_says(ended);
      }
    }
  }
}

TEST(Unstuff, BytesOfManyPairsAndFewMarkersAreReadAsTheStandardSays) {
  std::mt19937 random(5);
  const auto pick = [&](int low, int high) { return std::uniform_int_distribution(low, high)(random); };
  for (int i = 0; i < 3000; ++i) {
    Bytes bytes(static_cast<std::size_t>(pick(0, 600)));
    const int share = pick(1, 30);
    for (std::size_t at = 0; at < bytes.size(); ++at) {
      const bool after = at > 0 && bytes[at - 1] == 0xFF;
      bytes[at] = static_cast<std::uint8_t>(pick(0, 254));
      if (after && pick(0, 200) != 0) bytes[at] = 0;
      if (!after && pick(0, share) == 0) bytes[at] = 0xFF;
    }
    expect_as_the_standard_says(bytes);
    if (::testing::Test::HasFailure()) return;
  }
}

}  // namespace
}  // namespace drapps::kernel::jpeg
