#include "drapps/modality/columns.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <vector>

#include "drapps/source/array.h"
#include "drapps/source/encoded.h"

namespace drapps {
namespace {

using ::testing::ElementsAre;

template <class T>
std::vector<T> column(const BatchColumns& columns, std::vector<std::byte>& slot, const char* name, std::size_t rows) {
  std::vector<T> values(rows);
  const std::byte* const first = columns.layout.row(slot.data(), columns.layout.find(name), 0);
  std::memcpy(values.data(), first, rows * sizeof(T));
  return values;
}

TEST(BatchColumns, RowsOfArraysAreGatheredFromWhereTheRunGoesOn) {
  const std::vector<std::int32_t> numbers{10, 11, 12, 13};
  const auto* const data = reinterpret_cast<const std::byte*>(numbers.data());
  const Array array{
      .name = "x", .dtype = Dtype::kInt32, .row_shape = {}, .data = data, .stride = sizeof(std::int32_t), .rows = 4};
  const auto source = *ArraySource::make({array}, std::nullopt, nullptr, nullptr);
  BatchColumns columns{BatchLayout(3)};
  columns.add_arrays(*source);
  columns.add_origin(*source);
  EXPECT_TRUE(columns.writers.empty());
  std::vector<std::byte> slot(columns.layout.bytes());

  const std::vector<std::uint64_t> records{3, 1, 3};
  const Workspace none;
  const RowRun run{.records = records, .rows = records, .first_position = 40, .real = 2, .workspace = none};
  for (const ColumnGatherer& gatherer : columns.gatherers) {
    std::size_t next = gatherer.column == 0 ? 1 : 0;
    ASSERT_TRUE(gatherer.gather(run, next, columns.layout.row(slot.data(), gatherer.column, 0)).ok());
    EXPECT_EQ(next, 3u);
  }
  EXPECT_THAT(column<std::int32_t>(columns, slot, "x", 3), ElementsAre(0, 11, 13)) << "row 0 was passed over";
  EXPECT_THAT(column<std::int64_t>(columns, slot, "index", 3), ElementsAre(3, 1, 3));
  EXPECT_THAT(column<std::int64_t>(columns, slot, "position", 3), ElementsAre(40, 41, 42));
  EXPECT_THAT(column<std::uint8_t>(columns, slot, "flags", 3), ElementsAre(0, 0, kFlagPadded));
}

TEST(BatchColumns, RowsOfSamplesSayWhichRecordTheyAre) {
  const std::vector<std::uint8_t> bytes{1};
  const auto source = *MemorySource::make({bytes, bytes}, nullptr, {}, Targets{.labels = {{"label", {5, 7}}}});
  BatchColumns columns{BatchLayout(1)};
  columns.first_label = LabelFormat{.row_shape = {2},
                                    .check = [](std::int64_t) { return ok_status(); },
                                    .write =
                                        [](std::int64_t label, std::byte* row) {
                                          const std::array<float, 2> shares{static_cast<float>(label), 0.5F};
                                          std::memcpy(row, shares.data(), sizeof shares);
                                        }};
  columns.add_labels(*source);
  columns.add_origin(*source);
  EXPECT_TRUE(columns.gatherers.empty());
  std::vector<std::byte> slot(columns.layout.bytes());
  Sample sample;
  sample.asked.record = 1;
  sample.asked.row.position = 9;
  sample.asked.row.padded = true;
  sample.asked.replaced = true;
  for (const ColumnWriter& writer : columns.writers) {
    ASSERT_TRUE(writer.write(sample, columns.layout.row(slot.data(), writer.column, 0)).ok());
  }
  EXPECT_EQ(columns.first_label->column, columns.layout.find("label"));
  EXPECT_THAT(column<float>(columns, slot, "label", 2), ElementsAre(7, 0.5F));
  EXPECT_THAT(column<std::int64_t>(columns, slot, "index", 1), ElementsAre(1));
  EXPECT_THAT(column<std::int64_t>(columns, slot, "position", 1), ElementsAre(9));
  EXPECT_THAT(column<std::uint8_t>(columns, slot, "flags", 1), ElementsAre(kFlagPadded | kFlagReplaced));
}

}  // namespace
}  // namespace drapps
