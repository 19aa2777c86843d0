// Headers in every order and form that libjpeg takes: colours, tables, sizes.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "drapps/decode/jpeg/markers.h"
#include "drapps/decode/jpeg/reader_testing.h"
#include "drapps/decode/testing.h"

namespace drapps::jpeg {
namespace {

using drapps::testing::Bytes;
using drapps::testing::encode_jpeg;
using testing::any_region;
using testing::OneIndex;
using testing::Twins;

struct Segment {
  std::uint8_t marker;
  Bytes body;
};

/// A file in pieces.
struct File {
  std::vector<Segment> segments;  // the last is the header of the scan
  Bytes scan;                     // and the end marker

  explicit File(const Bytes& file) {
    for (std::size_t at = 2; segments.empty() || segments.back().marker != kSos;) {
      const auto length = static_cast<std::ptrdiff_t>(file[at + 2] << 8 | file[at + 3]);
      const auto begin = file.begin() + static_cast<std::ptrdiff_t>(at);
      segments.push_back({file[at + 1], {begin + 4, begin + 2 + length}});
      at += static_cast<std::size_t>(2 + length);
      scan.assign(begin + 2 + length, file.end());
    }
  }

  Bytes bytes() const {
    Bytes file{0xFF, kSoi};
    for (const auto& [marker, body] : segments) {
      const std::size_t length = body.size() + 2;
      file.insert(file.end(),
                  {0xFF, marker, static_cast<std::uint8_t>(length >> 8), static_cast<std::uint8_t>(length)});
      file.insert(file.end(), body.begin(), body.end());
    }
    file.insert(file.end(), scan.begin(), scan.end());
    return file;
  }
  Segment& find(std::uint8_t marker) {
    return *std::find_if(segments.begin(), segments.end(), [&](const Segment& s) { return s.marker == marker; });
  }
  Bytes& frame() { return find(kSof0).body; }
  Bytes& scan_header() { return segments.back().body; }
  void remove(std::uint8_t marker) {
    std::erase_if(segments, [&](const Segment& s) { return s.marker == marker; });
  }
  void insert_first(Segment segment) { segments.insert(segments.begin(), std::move(segment)); }
  /// Puts the segment right before the scan's header.
  void insert_last(Segment segment) { segments.insert(segments.end() - 1, std::move(segment)); }
  /// The bodies of all segments of a kind, one behind the other.
  Bytes all(std::uint8_t marker) const {
    Bytes bodies;
    for (const Segment& s : segments) {
      if (s.marker == marker) bodies.insert(bodies.end(), s.body.begin(), s.body.end());
    }
    return bodies;
  }
};

Bytes adobe(std::uint8_t transform) { return {'A', 'd', 'o', 'b', 'e', 0, 100, 0, 0, 0, 0, transform}; }
const Bytes kJfif{'J', 'F', 'I', 'F', 0, 1, 1, 0, 0, 1, 0, 1, 0, 0};

class JpegReaderHeaders : public ::testing::Test {
 protected:
  enum Way { kOwn, kLibjpeg };

  /// The same pixels and verdict as libjpeg's, whole and in parts, and who made them.
  void expect_same(const Bytes& bytes, Way way) {
    for (const std::int32_t channels : {3, 1}) {
      ASSERT_TRUE(twins_.open(bytes, channels));
      OneIndex index(true);
      for (std::size_t level = 0; level < twins_.levels(); ++level) {
        ASSERT_EQ(twins_.compare(level, twins_.all(), &index), "");
        for (int i = 0; i < 5; ++i) {
          const Rect rect = any_region(twins_.info().stored, [this](int low, int high) {
            return std::uniform_int_distribution(low, high)(random_);
          });
          ASSERT_EQ(twins_.compare(level, rect), "");
          ASSERT_EQ(twins_.compare(level, rect, &index), "");
        }
      }
      EXPECT_EQ(index.complete() ? kOwn : kLibjpeg, way);
    }
  }
  void expect_same(const File& file, Way way) { expect_same(file.bytes(), way); }

  Twins twins_;
  std::mt19937 random_{13};
};

TEST_F(JpegReaderHeaders, ColoursAreWhatLibjpegTakesThemFor) {
  struct Case {
    bool jfif;
    int adobe;  // -1: none
    std::array<std::uint8_t, 3> ids;
    Way way;
  };
  constexpr std::array<std::uint8_t, 3> kUsual{1, 2, 3}, kRgb{'R', 'G', 'B'};
  const Case cases[] = {{true, -1, kUsual, kOwn},
                        {true, -1, kRgb, kOwn},
                        {true, 0, kUsual, kOwn},
                        {true, 0, kRgb, kOwn},
                        {false, -1, kUsual, kOwn},
                        {false, -1, kRgb, kLibjpeg},
                        {false, -1, {0, 1, 2}, kOwn},
                        {false, -1, {'r', 'g', 'b'}, kOwn},
                        {false, -1, {'B', 'G', 'R'}, kOwn},
                        {false, 0, kUsual, kLibjpeg},
                        {false, 0, kRgb, kLibjpeg},
                        {false, 1, kUsual, kOwn},
                        {false, 1, kRgb, kOwn},
                        {false, 2, kUsual, kOwn},
                        {false, 77, kRgb, kOwn},
                        {false, -1, {255, 0, 128}, kOwn},
                        {false, -1, {1, 34, 35}, kOwn}};
  for (const auto& [across, down] : {std::pair{1, 1}, {2, 2}}) {
    const Bytes original = encode_jpeg({33, 41}, {.horizontal = across, .vertical = down});
    for (const Case& c : cases) {
      SCOPED_TRACE(::testing::Message() << c.jfif << ' ' << c.adobe << ' ' << int{c.ids[0]} << ' ' << int{c.ids[1]});
      File file(original);
      if (!c.jfif) file.remove(kApp0);
      if (c.adobe >= 0) file.insert_last({kApp14, adobe(static_cast<std::uint8_t>(c.adobe))});
      for (std::size_t i = 0; i < 3; ++i) {
        file.frame()[6 + 3 * i] = c.ids[i];
        file.scan_header()[1 + 2 * i] = c.ids[i];
      }
      expect_same(file, c.way);
    }
  }
  expect_same(encode_jpeg({33, 41}, {.rgb = true}), kLibjpeg);
  expect_same(encode_jpeg({33, 41}, {.channels = 1, .jfif = false}), kOwn);
}

TEST_F(JpegReaderHeaders, ColourMarkersCountOnlyWhereTheyAreWhole) {
  File file(encode_jpeg({20, 20}, {.jfif = false}));
  file.insert_first({kApp14, adobe(0)});
  File later = file;
  later.insert_last({kApp14, adobe(1)});
  expect_same(later, kOwn);  // the last one counts
  later = file;
  later.insert_last({kApp14, adobe(1)});
  later.segments[later.segments.size() - 2].body.pop_back();
  expect_same(later, kLibjpeg);  // too short to count
  later.insert_last({kApp0, Bytes(kJfif.begin(), kJfif.end() - 1)});
  expect_same(later, kLibjpeg);  // as this
  later.insert_last({kApp0, {'J', 'F', 'X', 'X', 0, 1, 1, 0, 0, 1, 0, 1, 0, 0}});
  expect_same(later, kLibjpeg);
  later.insert_last({kApp0, kJfif});
  expect_same(later, kOwn);
  later.segments[later.segments.size() - 2].body.resize(300);  // a thumbnail
  expect_same(later, kOwn);
}

TEST_F(JpegReaderHeaders, TablesMayBeSplitJoinedAndRedefined) {
  for (const bool optimize : {false, true}) {
    const File original(
        encode_jpeg({37, 50}, {.horizontal = 2, .vertical = 2, .restart_interval = 2, .optimize = optimize}));
    File file = original;
    for (const std::uint8_t marker : {kDht, kDqt}) {
      const Bytes all = file.all(marker);
      file.remove(marker);
      file.insert_last({marker, all});  // behind the frame header
    }
    expect_same(file, kOwn);

    // Others first, under the same names; then the right ones; then some that nobody asks for.
    const File other(encode_jpeg({37, 50}, {.quality = 20, .optimize = !optimize, .seed = 5}));
    file.insert_first({kDht, other.all(kDht)});
    file.insert_first({kDqt, other.all(kDqt)});
    Bytes unused = other.all(kDqt);
    unused[0] = 3;
    unused[65] = 2;
    file.insert_last({kDqt, unused});
    expect_same(file, kOwn);
    // The last ones count.
    file.insert_last({kDqt, other.all(kDqt)});
    expect_same(file, kOwn);
    file.insert_last({kDht, other.all(kDht)});
    expect_same(file, kLibjpeg);
  }
}

TEST_F(JpegReaderHeaders, TablesUnderOtherNamesAndSharedOnesAreFound) {
  File file(encode_jpeg({37, 50}, {.horizontal = 2}));
  for (Segment& segment : file.segments) {
    if (segment.marker == kDqt && segment.body[0] == 1) segment.body[0] = 3;
    if (segment.marker == kDht && (segment.body[0] & 15) == 1)
      segment.body[0] = static_cast<std::uint8_t>(segment.body[0] + 2);
  }
  for (std::size_t i = 1; i < 3; ++i) {
    file.frame()[8 + 3 * i] = 3;
    file.scan_header()[2 + 2 * i] = 0x33;
  }
  expect_same(file, kOwn);
  File shared = file;
  for (std::size_t i = 1; i < 3; ++i) shared.frame()[8 + 3 * i] = 0;
  expect_same(shared, kOwn);
  // 4 is no name of a table; and of a table that is not there libjpeg has its own idea, or none.
  for (const int name : {0x43, 0x34, 0x13, 0x31, 0x22}) {
    File lost = file;
    lost.scan_header()[4] = static_cast<std::uint8_t>(name);
    SCOPED_TRACE(name);
    expect_same(lost, kLibjpeg);
  }
  for (const int name : {2, 4, 255}) {
    File lost = file;
    lost.frame()[11] = static_cast<std::uint8_t>(name);
    SCOPED_TRACE(name);
    expect_same(lost, kLibjpeg);
  }
}

TEST_F(JpegReaderHeaders, WithoutHuffmanTablesLibjpegTakesTheUsualOnes) {
  File file(encode_jpeg({37, 50}, {}));
  file.remove(kDht);
  expect_same(file, kLibjpeg);
  EXPECT_TRUE(twins_.good());
}

TEST_F(JpegReaderHeaders, CodesThatOnlyLibjpegTakesAndThoseItRefusesGetItsVerdict) {
  const File original(encode_jpeg({37, 50}, {.channels = 1}));
  // Counts by length, and a symbol for the last code.
  const auto changed = [&](bool ac, std::array<std::uint8_t, 16> counts, std::uint8_t symbol) {
    File file = original;
    for (Segment& segment : file.segments) {
      if (segment.marker != kDht || (segment.body[0] >> 4 != 0) != ac) continue;
      segment.body.resize(1);
      segment.body.insert(segment.body.end(), counts.begin(), counts.end());
      std::size_t total = 0;
      for (const std::uint8_t count : counts) total += count;
      for (std::size_t i = 0; i < total; ++i)
        segment.body.push_back(i + 1 == total ? symbol : static_cast<std::uint8_t>(i % 10));
    }
    return file;
  };
  for (const bool ac : {false, true}) {
    for (int symbol = 0; symbol < 256; ++symbol) {
      SCOPED_TRACE(symbol);
      const File file = changed(ac, {0, 1, 5, 1, 1, 1, 1, 1, 1}, static_cast<std::uint8_t>(symbol));
      const Bytes bytes = file.bytes();
      ASSERT_TRUE(twins_.open(bytes));
      for (std::size_t level = 0; level < twins_.levels(); ++level) {
        ASSERT_EQ(twins_.compare(level, twins_.all()), "");
        ASSERT_EQ(twins_.compare(level, {9, 9, 5, 5}), "");
      }
    }
    expect_same(changed(ac, {2}, 1), kLibjpeg);           // all ones
    expect_same(changed(ac, {1, 1, 2}, 1), kLibjpeg);     // all ones
    expect_same(changed(ac, {1, 3}, 1), kLibjpeg);        // too many
    expect_same(changed(ac, {1, 1, 1, 9}, 1), kLibjpeg);  // too many
    expect_same(changed(ac, {}, 1), kLibjpeg);            // none at all
    EXPECT_TRUE(twins_.good());
  }
}

TEST_F(JpegReaderHeaders, OtherSegmentsChangeNothing) {
  File file(encode_jpeg({37, 50}, {.horizontal = 2, .restart_interval = 2}));
  for (int marker = kApp0 + 1; marker <= kApp15; ++marker) {
    file.insert_first(
        {static_cast<std::uint8_t>(marker), Bytes(static_cast<std::size_t>(marker - kApp0) * 4000, 0xFF)});
    file.insert_last({static_cast<std::uint8_t>(marker), {}});
  }
  file.insert_last({kCom, {'h', 'i', 0xFF, kSos, 0xFF, kEoi}});
  expect_same(file, kOwn);
  // Of restart intervals the last counts; the others are no more than words.
  const Bytes interval = file.find(kDri).body;
  file.insert_first({kDri, {0, 9}});
  expect_same(file, kOwn);
  file.insert_last({kDri, {0, 9}});
  file.insert_last({kDri, interval});
  expect_same(file, kOwn);
  file.insert_last({kDri, {0, 0}});
  expect_same(file, kLibjpeg);
}

TEST_F(JpegReaderHeaders, FillBytesAreLeftToLibjpeg) {
  for (const std::uint8_t marker : {kDqt, kDht, kSof0, kSos}) {
    Bytes bytes = encode_jpeg({37, 50}, {});
    const std::uint8_t pattern[] = {0xFF, marker};
    const auto place = std::search(bytes.begin(), bytes.end(), std::begin(pattern), std::end(pattern));
    bytes.insert(place, 3, 0xFF);
    expect_same(bytes, kLibjpeg);
    EXPECT_TRUE(twins_.good());
  }
}

TEST_F(JpegReaderHeaders, ScansNameComponentsInTheOrderOfTheFrame) {
  File file(encode_jpeg({37, 50}, {.horizontal = 2, .vertical = 2}));
  file.find(kSof0).marker = kSof1;
  expect_same(file, kOwn);
  file.find(kSof1).marker = kSof0;
  // Both components of chroma are coded alike, so they may trade places; but not in one of the headers alone.
  std::swap(file.scan_header()[3], file.scan_header()[5]);
  expect_same(file, kLibjpeg);
  EXPECT_FALSE(twins_.good());
  std::swap(file.frame()[9], file.frame()[12]);
  expect_same(file, kOwn);
  // What a sequential scan says of its bands is ignored.
  file.scan_header()[7] = 9;
  file.scan_header()[8] = 12;
  file.scan_header()[9] = 0x21;
  expect_same(file, kOwn);
  File rotated = file;
  std::rotate(rotated.scan_header().begin() + 1, rotated.scan_header().begin() + 3, rotated.scan_header().begin() + 7);
  expect_same(rotated, kLibjpeg);
  // Two of one name.
  File twice = file;
  twice.frame()[9] = twice.frame()[12];
  expect_same(twice, kLibjpeg);
  twice.scan_header()[3] = twice.scan_header()[5];
  expect_same(twice, kLibjpeg);
  twice = file;
  twice.scan_header()[3] = twice.scan_header()[5];
  expect_same(twice, kLibjpeg);
}

TEST_F(JpegReaderHeaders, EverySamplingHasLibjpegsPixels) {
  // Whatever the factors are, the scan of 4:4:4 is data of some kind.
  const Bytes gray = encode_jpeg({24, 40}, {.channels = 1, .quality = 60}),
              colour = encode_jpeg({48, 80}, {.quality = 60});
  for (int first = 0; first < 256; ++first) {
    for (const int others : {0x11, 0x12, 0x21, 0x22, 0x41, 0x14}) {
      File file(colour);
      file.frame()[7] = static_cast<std::uint8_t>(first);
      file.frame()[10] = static_cast<std::uint8_t>(others);
      const Bytes bytes = file.bytes();
      if (!twins_.open(bytes)) continue;
      const std::size_t level = static_cast<std::size_t>(first) % twins_.levels();
      ASSERT_EQ(twins_.compare(level, twins_.all()), "") << first << ' ' << others;
      ASSERT_EQ(twins_.compare(level, {11, 17, 21, 14}), "") << first << ' ' << others;
    }
    File file(gray);
    file.frame()[7] = static_cast<std::uint8_t>(first);
    const Bytes bytes = file.bytes();
    if (!twins_.open(bytes)) continue;
    ASSERT_EQ(twins_.compare(0, twins_.all()), "") << first;
    ASSERT_EQ(twins_.compare(0, {11, 7, 3, 14}), "") << first;
  }
}

TEST_F(JpegReaderHeaders, SizesThatLibjpegRefusesAreRefused) {
  for (const bool tall : {false, true}) {
    const File original(encode_jpeg(tall ? Extent{65500, 4} : Extent{4, 65500}, {.channels = 1}));
    for (const int size : {65499, 65500, 65501, 65504}) {
      SCOPED_TRACE(size);
      File file = original;
      file.frame()[tall ? 1 : 3] = static_cast<std::uint8_t>(size >> 8);
      file.frame()[tall ? 2 : 4] = static_cast<std::uint8_t>(size);
      expect_same(file, size <= 65500 ? kOwn : kLibjpeg);
      EXPECT_EQ(twins_.good(), size <= 65500);
    }
  }
}

}  // namespace
}  // namespace drapps::jpeg
