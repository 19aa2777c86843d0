#include "drapps/modality/picture.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "drapps/modality/modalities.h"
#include "drapps/modality/test_pictures.h"
#include "drapps/source/encoded.h"

namespace drapps {
namespace {

using ::testing::HasSubstr;

const CenterCrop kFour{.height = 4, .width = 4};

std::string refusal(PictureFields fields, const Source& source) {
  const auto part = PicturePart(std::move(fields)).plan("image", 0, source);
  return part.ok() ? "accepted" : part.error().message;
}

std::string refusal(std::string_view json) {
  const auto part = find_modality("picture")->parse(nlohmann::json::parse(json), "parts.left", nullptr);
  return part.ok() ? "accepted" : part.error().message;
}

TEST(PicturePart, WhatIsWrongWithAFieldIsNamed) {
  EXPECT_EQ(refusal(R"({})"), "accepted");
  EXPECT_THAT(refusal(R"({"opps":[]})"), HasSubstr("parts.left has no field named \"opps\""));
  EXPECT_THAT(refusal(R"({"ops":{}})"), HasSubstr("not an array"));
  EXPECT_THAT(refusal(R"({"ops":[{"height":3}]})"), HasSubstr("ops[0]"));
  EXPECT_THAT(refusal(R"({"ops":[{"op":"explode"}]})"), HasSubstr("explode"));
  EXPECT_THAT(refusal(R"({"ops":[{"op":"resize","heigth":3}]})"), HasSubstr("heigth"));
  EXPECT_THAT(refusal(R"({"ops":[{"op":"resize","height":"3"}]})"), HasSubstr("height"));
  EXPECT_THAT(refusal(R"({"ops":[{"op":"resize","height":99999999999}]})"), HasSubstr("height"));
  EXPECT_THAT(refusal(R"({"ops":[{"op":"resize","version":2}]})"), HasSubstr("version 2"));
  EXPECT_THAT(refusal(R"({"tensor":{"mean":0.5}})"), HasSubstr("mean"));
  EXPECT_THAT(refusal(R"({"mask":{"dtype":"int9"}})"), HasSubstr("uint8"));
  EXPECT_THAT(refusal(R"({"mix":{"alpha":1}})"), HasSubstr("alpha"));
  EXPECT_THAT(refusal(R"({"mix":{"version":2}})"), HasSubstr("version 2"));
  EXPECT_THAT(refusal(R"({"decode":[]})"), HasSubstr("decode"));
  EXPECT_THAT(refusal(R"({"max_boxes":-1})"), HasSubstr("max_boxes"));
}

TEST(PicturePart, WithoutACommonSizeThereIsNoBatch) {
  const auto picture = testing_pictures::png(8, 8, 1);
  const auto source = *MemorySource::make({picture}, nullptr);
  EXPECT_THAT(refusal(PictureFields{}, *source), HasSubstr("random_resized_crop"));
  EXPECT_THAT(refusal({.ops = {Resize{.height = -1, .width = 3}}}, *source), HasSubstr("op 1 (resize)"));
  EXPECT_THAT(refusal({.ops = {kFour}, .tensor = {.mean = {0, 0}, .std = {1, 1}}}, *source), HasSubstr("mean"));
  EXPECT_EQ(refusal({.ops = {kFour}}, *source), "accepted");
}

TEST(PicturePart, OpsAreFixedUpToTheFirstThatDraws) {
  const auto picture = testing_pictures::png(8, 8, 1);
  const auto source = *MemorySource::make({picture}, nullptr, {}, Targets{.labels = {{"label", {1}}}});
  const auto part = *PicturePart({.ops = {Resize{.short_side = 6}, kFour, HorizontalFlip{}, kFour},
                                  .mix = Mix{.mixup_alpha = 1, .num_classes = 3}})
                         .plan("image", 0, *source);
  EXPECT_EQ(part->fixed_ops(), 2u);
  EXPECT_EQ(part->ordinals(), 5u) << "each op has a number, and the batch op";
  EXPECT_TRUE(part->finishes());
}

TEST(PicturePart, OpsThatAreLeftOutForSomeSamplesMayNotChangeWhatMakesABatch) {
  const auto picture = testing_pictures::png(8, 8, 1);
  const auto source = *MemorySource::make({picture}, nullptr);
  const auto refused = [&](std::vector<Op> ops) { return refusal({.ops = std::move(ops)}, *source); };
  const CenterCrop two{.height = 2, .width = 2};
  const RandomApply one{.count = 1};
  EXPECT_EQ(refused({kFour, one, HorizontalFlip{}}), "accepted");
  EXPECT_EQ(refused({one, two, kFour}), "accepted");
  EXPECT_EQ(refused({kFour, RandomApply{.count = 2}, two, kFour}), "accepted");
  EXPECT_THAT(refused({kFour, one, two}), HasSubstr("no common size"));
  EXPECT_THAT(refused({one, kFour}), HasSubstr("no common size"));
  EXPECT_THAT(refused({kFour, one, Grayscale{}}), HasSubstr("op 3 (grayscale): random_apply: its ops make 1 of 3"));
  EXPECT_THAT(refused({kFour, one, RandomErasing{}, HorizontalFlip{}}), HasSubstr("put it last"));
  EXPECT_THAT(refused({kFour, one}), HasSubstr("op 2 (random_apply): it covers more ops"));
  EXPECT_THAT(refused({kFour, RandomApply{.count = INT32_MAX}, HorizontalFlip{}}), HasSubstr("more ops"));
  EXPECT_EQ(refused({kFour, RandomApply{.count = 2}, one, HorizontalFlip{}}), "accepted");
  EXPECT_THAT(refused({kFour, RandomApply{.count = 2}, RandomApply{.count = 2}, HorizontalFlip{}, HorizontalFlip{}}),
              HasSubstr("op 3 (random_apply): it covers more ops"));
}

TEST(PicturePart, MixesOnlyWhatHasLabelsThatAreClasses) {
  const auto picture = testing_pictures::png(8, 8, 1);
  const auto refused = [&](Mix mix, Targets targets, TensorFormat tensor = {}) {
    const auto source = *MemorySource::make({picture, picture}, nullptr, {}, std::move(targets));
    return refusal({.ops = {kFour}, .tensor = std::move(tensor), .mix = mix}, *source);
  };
  const auto labels = [](std::int64_t a, std::int64_t b) { return Targets{.labels = {{"label", {a, b}}}}; };
  const Mix mixup{.mixup_alpha = 1, .num_classes = 3};
  EXPECT_EQ(refused(mixup, labels(0, 2)), "accepted");
  EXPECT_THAT(refused(mixup, {}), HasSubstr("no labels"));
  EXPECT_THAT(refused(mixup, labels(0, 3)), HasSubstr("sample 1 has the label 3, and num_classes is 3"));
  EXPECT_THAT(refused(mixup, labels(-1, 0)), HasSubstr("sample 0 has the label -1"));
  EXPECT_THAT(refused({.num_classes = 3}, labels(0, 1)), HasSubstr("neither"));
  const TensorFormat bytes{.dtype = Dtype::kUint8, .scale = false};
  EXPECT_THAT(refused(mixup, labels(0, 1), bytes), HasSubstr("fractions"));
  EXPECT_EQ(refused({.cutmix_alpha = 1, .num_classes = 3}, labels(0, 1), bytes), "accepted");
  Targets boxes = labels(0, 1);
  boxes.box_offsets = {0, 0, 0};
  EXPECT_THAT(refused(mixup, boxes), HasSubstr("masks or boxes"));
}

TEST(PicturePart, TheFirstLabelIsMixedAndBecomesARowOfShares) {
  const auto picture = testing_pictures::png(8, 8, 1);
  const auto source =
      *MemorySource::make({picture}, nullptr, {}, Targets{.labels = {{"species", {2}}, {"site", {70}}}});
  const auto part =
      *PicturePart({.ops = {kFour}, .mix = Mix{.mixup_alpha = 1, .num_classes = 3}}).plan("image", 0, *source);
  BatchColumns columns{BatchLayout(1)};
  ASSERT_TRUE(part->add_columns(columns).ok());
  columns.add_labels(*source);
  const Column& species = columns.layout.columns()[columns.layout.find("species")];
  EXPECT_EQ(species.dtype, Dtype::kFloat32);
  EXPECT_EQ(species.row_shape, std::vector<std::int64_t>{3});
  const Column& site = columns.layout.columns()[columns.layout.find("site")];
  EXPECT_EQ(site.dtype, Dtype::kInt64);
  EXPECT_TRUE(site.row_shape.empty());
}

}  // namespace
}  // namespace drapps
