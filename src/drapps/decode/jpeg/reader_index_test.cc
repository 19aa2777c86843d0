// What Reader learns of a scan, and what it makes of an index that is wrong.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "drapps/decode/jpeg/index_memory.h"
#include "drapps/decode/jpeg/reader_testing.h"
#include "drapps/decode/testing.h"

namespace drapps::jpeg {
namespace {

using drapps::testing::Bytes;
using drapps::testing::encode_jpeg;
using testing::any_region;
using testing::OneIndex;
using testing::Twins;

constexpr Extent kExtent{163, 421};
constexpr unsigned kIntervals[] = {0, 1, 5, 8, 60, 1000};

class JpegReaderIndex : public ::testing::Test {
 protected:
  int pick(int low, int high) { return std::uniform_int_distribution(low, high)(random_); }
  Rect region() {
    return any_region(twins_.info().stored, [this](int low, int high) { return pick(low, high); });
  }

  Bytes some_file(unsigned restart_interval) {
    constexpr std::pair<int, int> kFactors[] = {{1, 1}, {2, 1}, {2, 2}, {1, 2}, {4, 1}};
    const auto [across, down] = kFactors[pick(0, 4)];
    return encode_jpeg(kExtent, {.channels = across * down == 1 && pick(0, 2) == 0 ? 1 : 3,
                                 .horizontal = across,
                                 .vertical = down,
                                 .restart_interval = restart_interval,
                                 .quality = pick(10, 95),
                                 .optimize = pick(0, 1) != 0,
                                 .seed = static_cast<std::uint32_t>(random_())});
  }

  /// Opens a file and learns all of it at the lowest level.
  ScanIndex learn(const Bytes& file, bool fine) {
    EXPECT_TRUE(twins_.open(file));
    OneIndex index(fine);
    EXPECT_EQ(twins_.compare(0, twins_.all(), &index), "");
    EXPECT_TRUE(index.complete());
    return index.known;
  }

  /// A wrong index must show where decoding reaches an entry that is right, or cannot go on.
  void expect_pixels_over_the_whole_width(OneIndex& index) {
    for (std::size_t level = 0; level < twins_.levels(); ++level) {
      ASSERT_EQ(twins_.compare(level, twins_.all(), &index), "");
      const Rect all = twins_.all();
      for (int i = 0; i < 4; ++i) {
        const std::int32_t top = pick(0, all.height - 1);
        ASSERT_EQ(twins_.compare(level, {top, 0, pick(1, all.height - top), all.width}, &index), "");
      }
    }
  }

  Twins twins_;
  std::mt19937 random_{5};
};

TEST_F(JpegReaderIndex, GrowsByWhateverIsReadAndIsTheSameHoweverItGrew) {
  for (const unsigned interval : kIntervals) {
    for (const bool fine : {false, true}) {
      for (int n = 0; n < 2; ++n) {
        const Bytes file = some_file(interval);
        const ScanIndex complete = learn(file, fine);
        for (std::size_t level = 0; level < twins_.levels(); ++level) {
          OneIndex index(fine);
          std::size_t known = 0;
          for (int i = 0; i < 12; ++i) {
            const Rect rect = i == 9 ? twins_.all() : region();
            ASSERT_EQ(twins_.compare(level, rect, &index), "");
            const std::vector<IndexEntry>& entries = index.known.entries;
            ASSERT_GE(entries.size(), std::max<std::size_t>(known, 1));
            ASSERT_LE(entries.size(), complete.entries.size());
            ASSERT_TRUE(std::equal(entries.begin(), entries.end(), complete.entries.begin()));
            ASSERT_EQ(index.known.shape, complete.shape);
            known = entries.size();
          }
          ASSERT_TRUE(index.complete());
          const int offers = index.offers;
          ASSERT_EQ(twins_.compare(level, region(), &index), "");
          EXPECT_EQ(index.offers, offers);  // there was nothing new to say
        }
      }
    }
  }
}

TEST_F(JpegReaderIndex, ReachesTheLastRowThatACropNeeds) {
  const Bytes file = encode_jpeg({160, 96}, {});
  ASSERT_TRUE(twins_.open(file));
  OneIndex rows(false), fine(true);
  ASSERT_EQ(twins_.compare(0, {17, 20, 30, 8}, &rows), "");
  ASSERT_EQ(twins_.compare(0, {17, 20, 30, 8}, &fine), "");
  EXPECT_EQ(rows.known.entries.size(), 6u);          // rows 0 to 5
  EXPECT_EQ(fine.known.entries.size(), 5u * 2 + 1);  // and the first 8 MCUs of row 5
}

TEST_F(JpegReaderIndex, SaysHowMuchOfItThereWasBefore) {
  const Bytes file = encode_jpeg({160, 96}, {});
  ASSERT_TRUE(twins_.open(file));
  OneIndex index(true);
  ASSERT_EQ(twins_.compare(0, {17, 20, 30, 8}, &index), "");
  EXPECT_EQ(twins_.had, Learned::kNothing);
  ASSERT_EQ(twins_.compare(0, twins_.all(), &index), "");
  EXPECT_EQ(twins_.had, Learned::kPart);
  ASSERT_EQ(twins_.compare(0, {17, 20, 30, 8}, &index), "");
  EXPECT_EQ(twins_.had, Learned::kAll);
}

TEST_F(JpegReaderIndex, OfAnotherPictureIsNotUsedAndReplaced) {
  for (const bool fine : {false, true}) {
    const Bytes file = some_file(0);
    const ScanIndex right = learn(file, fine);
    for (int change = 0; change < 5; ++change) {
      OneIndex index(fine);
      index.known = right;
      for (IndexEntry& entry : index.known.entries) entry = {0, 77, {1, 2, 3}};
      IndexShape& shape = index.known.shape;
      if (change == 0) ++shape.mcus_across;
      if (change == 1) --shape.mcus_down;
      if (change == 2) shape.group = shape.group == 8 ? shape.mcus_across : 8;
      if (change == 3) shape.headers ^= 1;
      if (change == 4) --shape.file_bytes;
      ASSERT_EQ(twins_.compare(0, {90, 30, 40, 50}, &index), "");
      ASSERT_EQ(index.known.shape, right.shape);
      ASSERT_EQ(twins_.compare(0, twins_.all(), &index), "");
      EXPECT_EQ(index.known.entries, right.entries);
    }
  }
}

TEST_F(JpegReaderIndex, OneWrongEntryNeverShowsInPixelsWhereDecodingComesToTheNext) {
  // Without restart markers, which reset predictors. Bits read from a wrong place may still end at the right one with
  // the right predictors, by a chance that these files and changes do not have.
  for (const unsigned interval : {0u, 1000u}) {
    for (const bool fine : {false, true}) {
      const Bytes file = some_file(interval);
      const ScanIndex right = learn(file, fine);
      for (int i = 0; i < 12; ++i) {
        OneIndex index(fine);
        index.known = right;
        // The last entry has no next one.
        const int number = pick(0, static_cast<int>(right.entries.size()) - 2), change = pick(0, 3);
        SCOPED_TRACE("change " + std::to_string(change) + " of entry " + std::to_string(number) + " of " +
                     std::to_string(right.entries.size()));
        IndexEntry& entry = index.known.entries[static_cast<std::size_t>(number)];
        switch (change) {
          case 0: entry.bit_low ^= 1; break;
          case 1: entry.dc[0] = static_cast<std::int16_t>(entry.dc[0] + pick(1, 50)); break;
          case 2: entry.bit_high = 0xFFFF; break;
          default:
            entry = right.entries[0];
            entry.dc[0] = 1;
            break;
        }
        expect_pixels_over_the_whole_width(index);
        if (HasFailure()) return;
      }
    }
  }
}

TEST_F(JpegReaderIndex, EntriesOfAnotherFileNeverShowInTheWholePicture) {
  for (const bool fine : {false, true}) {
    for (int i = 0; i < 8; ++i) {
      const ScanIndex other = learn(some_file(0), fine);
      const Bytes file = some_file(i % 2 == 0 ? 0 : 7);
      const ScanIndex right = learn(file, fine);
      OneIndex index(fine);
      index.known = {right.shape, other.entries};
      index.known.entries.resize(std::min(right.entries.size(), other.entries.size()));
      ASSERT_EQ(twins_.compare(static_cast<std::size_t>(i) % twins_.levels(), twins_.all(), &index), "");
    }
  }
}

TEST_F(JpegReaderIndex, EntriesOfAnyKindAreNoFault) {
  for (int i = 0; i < 24; ++i) {
    const Bytes file = some_file(kIntervals[i % 6]);
    const bool fine = i % 4 < 2;
    const ScanIndex right = learn(file, fine);
    for (int n = 0; n < 10; ++n) {
      OneIndex index(fine);
      index.known = right;
      index.known.entries.resize(static_cast<std::size_t>(pick(1, static_cast<int>(right.entries.size()))));
      for (IndexEntry& entry : index.known.entries) {
        const auto bit = static_cast<std::uint32_t>(pick(0, static_cast<int>(file.size()) * 8));
        entry.bit_high = static_cast<std::uint16_t>(bit >> 16);
        entry.bit_low = static_cast<std::uint16_t>(bit);
        for (std::int16_t& dc : entry.dc) dc = static_cast<std::int16_t>(random_());
      }
      // Pixels may be wrong where nothing contradicts the index; there is a picture, whatever it is.
      const std::string difference = twins_.compare(static_cast<std::size_t>(n) % twins_.levels(), region(), &index);
      ASSERT_TRUE(difference.empty() || difference.find("pixels differ") != std::string::npos) << difference;
    }
  }
}

TEST_F(JpegReaderIndex, ComesThroughAStoreInMemoryAtBothGrains) {
  for (const std::size_t budget : {std::size_t{1} << 20, sizeof(MemoryIndexStore) + 4000}) {
    MemoryIndexStore store(MemoryLedger::unlimited(), 4, budget);
    std::vector<Bytes> files;
    for (int i = 0; i < 4; ++i) files.push_back(encode_jpeg({150, 600}, {.quality = 40 + 10 * i}));
    for (int epoch = 0; epoch < 4; ++epoch) {
      for (std::size_t i = 0; i < files.size(); ++i) {
        ASSERT_TRUE(twins_.open(files[i]));
        const Rect rect = epoch == 2 ? twins_.all() : region();
        ASSERT_EQ(twins_.compare(0, rect, &store, {.record = i, .identity = {.size = files[i].size()}}), "");
      }
    }
    EXPECT_EQ(store.statistics().complete, 4u);
    const std::size_t groups = budget == 1 << 20 ? (75 + 7) / 8 : 1;
    EXPECT_EQ(store.statistics().entries, 4 * groups * 19);
  }
}

}  // namespace
}  // namespace drapps::jpeg
