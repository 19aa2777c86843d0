#include "drapps/text/rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "drapps/text/tokenizer_json.h"

namespace drapps::text {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

/// Letters a to e are the ids 0 to 4, a space 5; rows are <s> (6) first </s> (7), and second </s> behind it.
Tokenizer letters(bool trims = false) {
  const std::string json = std::string(R"({"pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false},
    "post_processor": {"type": "Sequence", "processors": [
      {"type": "ByteLevel", "add_prefix_space": true, "trim_offsets": )") +
                           (trims ? "true" : "false") + R"(},
      {"type": "TemplateProcessing",
       "single": [{"SpecialToken": {"id": "<s>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}},
                  {"SpecialToken": {"id": "</s>", "type_id": 0}}],
       "pair": [{"SpecialToken": {"id": "<s>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}},
                {"SpecialToken": {"id": "</s>", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}},
                {"SpecialToken": {"id": "</s>", "type_id": 1}}],
       "special_tokens": {"<s>": {"id": "<s>", "ids": [6]}, "</s>": {"id": "</s>", "ids": [7]}}}]},
    "model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "c": 2, "d": 3, "e": 4, "Ġ": 5}, "merges": []}})";
  auto parts = parse_tokenizer_json(json);
  EXPECT_TRUE(parts.ok()) << parts.error().message;
  return Tokenizer(std::move(parts).value());
}

TEST(Rows, ArePaddedToTheLongest) {
  const RowOptions options{.types = true,
                           .attention = true,
                           .special_mask = true,
                           .padding = Padding::kLongest,
                           .multiple = 4,
                           .pad_left = true,
                           .pad_id = 9,
                           .pad_type = 3};
  const auto rows = make_rows(letters(), {"a", "bc"}, nullptr, options);
  ASSERT_TRUE(rows.ok());
  EXPECT_THAT(rows->begins, ElementsAre(0, 4, 8));
  EXPECT_THAT(rows->ids, ElementsAre(9, 6, 0, 7, 6, 1, 2, 7));
  EXPECT_THAT(rows->types, ElementsAre(3, 0, 0, 0, 0, 0, 0, 0));
  EXPECT_THAT(rows->attention, ElementsAre(0, 1, 1, 1, 1, 1, 1, 1));
  EXPECT_THAT(rows->special_mask, ElementsAre(1, 1, 0, 1, 1, 0, 0, 1));
  EXPECT_THAT(rows->places, IsEmpty());
}

TEST(Rows, OfWhatIsCutOffFollow) {
  RowOptions options{.overflowing = true, .cutting = Cutting::kFirst, .max_length = 5, .stride = 1};
  const auto right = make_rows(letters(), {"abcde"}, nullptr, options);
  EXPECT_THAT(right->ids, ElementsAre(6, 0, 1, 2, 7, 6, 2, 3, 4, 7));
  EXPECT_THAT(right->samples, ElementsAre(0, 0));
  options.cut_left = true;
  const auto left = make_rows(letters(), {"abcd"}, nullptr, options);
  EXPECT_THAT(left->ids, ElementsAre(6, 1, 2, 3, 7, 6, 0, 1, 7));
  options = {.cutting = Cutting::kLongestFirst, .max_length = 6};
  const std::vector<std::string_view> seconds{"edcb"};
  const auto pair = make_rows(letters(), {"ab"}, &seconds, options);
  EXPECT_THAT(pair->ids, ElementsAre(6, 0, 7, 4, 3, 7));
}

TEST(Rows, ThatTokenizersRefusesAreRefused) {
  for (const RowOptions& options : {RowOptions{.cutting = Cutting::kSecond, .max_length = 3},
                                    RowOptions{.cutting = Cutting::kFirst, .max_length = 1},
                                    RowOptions{.cutting = Cutting::kFirst, .max_length = 4, .stride = 3}}) {
    const auto rows = make_rows(letters(), {"abcde"}, nullptr, options);
    ASSERT_FALSE(rows.ok());
    EXPECT_EQ(rows.error().code, ErrorCode::kUnsupported);
  }
  const auto lost = make_rows(letters(), {"a?"}, nullptr, {.places = true});
  ASSERT_FALSE(lost.ok());
  EXPECT_EQ(lost.error().code, ErrorCode::kUnsupported);
}

TEST(Rows, SayWhereTokensStand) {
  const RowOptions options{.specials = false, .places = true};
  EXPECT_THAT(make_rows(letters(), {" a b"}, nullptr, options)->places, ElementsAre(0, 1, 1, 2, 2, 3, 3, 4));
  // What may be the space that was put before a text keeps its place.
  EXPECT_THAT(make_rows(letters(true), {" a b"}, nullptr, options)->places, ElementsAre(0, 0, 1, 2, 3, 3, 3, 4));
}

}  // namespace
}  // namespace drapps::text
