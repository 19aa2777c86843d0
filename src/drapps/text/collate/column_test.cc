#include "drapps/text/collate/column.h"

#include <gtest/gtest.h>

#include <array>
#include <string_view>
#include <vector>

namespace drapps::text {
namespace {

constexpr std::array<std::int32_t, 6> kNumbers{1, 2, 3, 4, 5, 6};
constexpr std::array<std::int32_t, 4> kOffsets{0, 2, 2, 6};
constexpr std::array<std::int64_t, 3> kWide{1, 4, 5};

ChunkedColumn two_chunks() {
  const ColumnChunk narrow{.stored = Stored::kI32,
                           .values = kNumbers.data(),
                           .size = kNumbers.size(),
                           .offsets = kOffsets.data(),
                           .rows = 3};
  ColumnChunk wide = narrow;
  wide.offsets = kWide.data();
  wide.wide = true;
  wide.rows = 2;
  return ChunkedColumn::make({narrow, {}, wide}).value();
}

TEST(ChunkedColumn, RowsComeFromWhicheverChunkHasThem) {
  const ChunkedColumn column = two_chunks();
  ASSERT_EQ(column.rows(), 5u);
  const std::vector<std::int64_t> rows{4, 0, 1, 3, 0};
  const auto taken = column.integers(rows);
  ASSERT_TRUE(taken.ok());
  EXPECT_EQ(taken->begins, (std::vector<std::int64_t>{0, 1, 3, 3, 6, 8}));
  EXPECT_EQ(taken->values, (std::vector<std::int64_t>{5, 1, 2, 2, 3, 4, 1, 2}));
}

TEST(ChunkedColumn, RowsOfEqualWidthNeedNoOffsets) {
  constexpr std::array<float, 6> numbers{0.5f, 1, 2, 3, 4, 5};
  const auto column =
      ChunkedColumn::make({{.stored = Stored::kF32, .values = numbers.data(), .size = 6, .rows = 3, .width = 2}});
  ASSERT_TRUE(column.ok());
  const std::vector<std::int64_t> rows{2, 0};
  EXPECT_EQ(column->doubles(rows)->values, (std::vector<double>{4, 5, 0.5, 1}));
}

TEST(ChunkedColumn, TextsLieWhereTheyLay) {
  constexpr std::string_view bytes = "onetwo";
  constexpr std::array<std::int32_t, 3> offsets{0, 3, 6};
  const auto column = ChunkedColumn::make(
      {{.stored = Stored::kBytes, .values = bytes.data(), .size = 6, .offsets = offsets.data(), .rows = 2}});
  const std::vector<std::int64_t> rows{1};
  const auto texts = column->texts(rows);
  ASSERT_TRUE(texts.ok());
  EXPECT_EQ(texts->front(), "two");
  EXPECT_EQ(texts->front().data(), bytes.data() + 3);
}

TEST(ChunkedColumn, DamageIsAnError) {
  const std::vector<std::int64_t> none{5};
  EXPECT_NE(two_chunks().integers(none).error().message.find("no row 5"), std::string::npos);
  const std::vector<std::int64_t> numbers{0};
  EXPECT_FALSE(two_chunks().texts(numbers).ok());
  constexpr std::array<std::int32_t, 3> back{0, 5, 3};
  const auto column = ChunkedColumn::make({{.stored = Stored::kI32,
                                            .values = kNumbers.data(),
                                            .size = kNumbers.size(),
                                            .offsets = back.data(),
                                            .rows = 2}});
  const std::vector<std::int64_t> damaged{1};
  EXPECT_NE(column->integers(damaged).error().message.find("row 1"), std::string::npos);
  EXPECT_FALSE(ChunkedColumn::make({{.values = kNumbers.data(), .size = 6, .rows = 4, .width = 2}}).ok());
}

}  // namespace
}  // namespace drapps::text
