#include "drapps/pipeline/spec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "drapps/pipeline/plan.h"
#include "drapps/pipeline/test_pictures.h"

namespace drapps {
namespace {

using ::testing::HasSubstr;

const PictureFields kRich{
    .decode = {.color = ColorMode::kGray,
               .exif = ExifMode::kApply,
               .depth = DepthMode::kClip,
               .cmyk = CmykMode::kTensorflow,
               .max_pixels = 1000},
    .ops = {Resize{.short_side = 40}, RandomCrop{}, ColorJitter{}, RandomErasing{.value = {0.5F}}},
    .tensor = {.dtype = Dtype::kBfloat16, .layout = Layout::kNhwc, .mean = {0.25F}, .std = {0.5F}, .table = {1.5F}},
    .mask = {.dtype = Dtype::kInt64, .channel = true},
    .mix = Mix{.mixup_alpha = 0.25, .p = 0.5, .num_classes = 11},
    .max_boxes = 5};

PipelineSpec rich() {
  PipelineSpec spec;
  spec.parts = {testing_pictures::picture_part(kRich)};
  spec.sampler = {
      .shuffle = true, .seed = 0xFFFFFFFFFFFFFFFFu, .rank = 1, .world = 2, .batch = 3, .remainder = Remainder::kDrop};
  spec.seed = 7;
  spec.on_error = OnError::kSkip;
  return spec;
}

std::string refusal(std::string_view json) {
  const auto spec = parse_spec(json);
  return spec.ok() ? "accepted" : spec.error().message;
}

TEST(Spec, JsonGivesBackEveryField) {
  const PipelineSpec spec = rich();
  const auto again = parse_spec(to_json(spec));
  ASSERT_TRUE(again.ok()) << again.error().message;
  EXPECT_EQ(to_json(*again), to_json(spec));
  ASSERT_EQ(again->parts.size(), 1u);
  EXPECT_EQ(again->parts[0].name, "image");
  const auto& part = static_cast<const PicturePart&>(*again->parts[0].spec);
  EXPECT_EQ(part.ops, kRich.ops);
  EXPECT_EQ(part.tensor, kRich.tensor);
  EXPECT_EQ(part.mask, kRich.mask);
  EXPECT_EQ(part.mix, kRich.mix);
  EXPECT_EQ(again->sampler, spec.sampler);
  EXPECT_EQ(again->on_error, spec.on_error);
  EXPECT_EQ(part.decode.max_pixels, 1000);
  EXPECT_EQ(part.decode.cmyk, CmykMode::kTensorflow);
}

TEST(Spec, WhatIsWrongIsNamed) {
  EXPECT_THAT(refusal("nonsense"), HasSubstr("not a JSON object"));
  EXPECT_THAT(refusal(R"({"version":99})"), HasSubstr("version 99"));
  EXPECT_THAT(refusal(R"({"opps":[]})"), HasSubstr("\"opps\""));
  EXPECT_THAT(refusal(R"({"ops":[{"height":3}]})"), HasSubstr("ops[0]"));
  EXPECT_THAT(refusal(R"({"ops":[{"op":"explode"}]})"), HasSubstr("explode"));
  EXPECT_THAT(refusal(R"({"ops":[{"op":"resize","heigth":3}]})"), HasSubstr("heigth"));
  EXPECT_THAT(refusal(R"({"ops":[{"op":"resize","height":"3"}]})"), HasSubstr("height"));
  EXPECT_THAT(refusal(R"({"ops":[{"op":"resize","height":99999999999}]})"), HasSubstr("height"));
  EXPECT_THAT(refusal(R"({"ops":[{"op":"resize","version":2}]})"), HasSubstr("version 2"));
  EXPECT_THAT(refusal(R"({"sampler":{"remainder":"maybe"}})"), HasSubstr("even, pad, drop"));
  EXPECT_THAT(refusal(R"({"tensor":{"mean":0.5}})"), HasSubstr("mean"));
  EXPECT_THAT(refusal(R"({"mask":{"dtype":"int8"}})"), HasSubstr("uint8"));
  EXPECT_THAT(refusal(R"({"mix":{"alpha":1}})"), HasSubstr("alpha"));
  EXPECT_THAT(refusal(R"({"mix":{"version":2}})"), HasSubstr("version 2"));
  EXPECT_THAT(refusal(R"({"decode":[]})"), HasSubstr("decode"));
  EXPECT_THAT(refusal(R"({"seed":-1})"), HasSubstr("seed"));
  EXPECT_THAT(refusal(R"({"on_error":"ignore"})"), HasSubstr("raise, skip, replace"));
}

TEST(Plan, RefusesWhatMakesNoBatchAndSaysWhatToDo) {
  const auto picture = testing_pictures::png(8, 8, 1);
  const auto source = *MemorySource::make({picture}, nullptr);
  const auto refused = [&](PictureFields fields, std::uint32_t batch = 1) {
    const auto plan = Plan::make(
        {.parts = {testing_pictures::picture_part(std::move(fields))}, .sampler = {.batch = batch}}, *source);
    return plan.ok() ? std::string("accepted") : plan.error().message;
  };
  EXPECT_THAT(refused({}), HasSubstr("random_resized_crop"));
  EXPECT_THAT(refused({.ops = {Resize{.height = -1, .width = 3}}}), HasSubstr("op 1 (resize)"));
  EXPECT_THAT(refused({.ops = {CenterCrop{.height = 4, .width = 4}}}, 0), HasSubstr("batch"));
  EXPECT_THAT(refused({.ops = {CenterCrop{.height = 4, .width = 4}}, .tensor = {.mean = {0, 0}, .std = {1, 1}}}),
              HasSubstr("mean"));
  EXPECT_EQ(refused({.ops = {CenterCrop{.height = 4, .width = 4}}}), "accepted");
}

TEST(Plan, OpsThatAreLeftOutForSomeSamplesMayNotChangeWhatMakesABatch) {
  const auto picture = testing_pictures::png(8, 8, 1);
  const auto source = *MemorySource::make({picture}, nullptr);
  const auto refused = [&](std::vector<Op> ops) {
    const auto plan = Plan::make({.parts = {testing_pictures::picture_part({.ops = std::move(ops)})}}, *source);
    return plan.ok() ? std::string("accepted") : plan.error().message;
  };
  const CenterCrop four{.height = 4, .width = 4};
  const CenterCrop two{.height = 2, .width = 2};
  const RandomApply one{.count = 1};
  EXPECT_EQ(refused({four, one, HorizontalFlip{}}), "accepted");
  EXPECT_EQ(refused({one, two, four}), "accepted");
  EXPECT_EQ(refused({four, RandomApply{.count = 2}, two, four}), "accepted");
  EXPECT_THAT(refused({four, one, two}), HasSubstr("no common size"));
  EXPECT_THAT(refused({one, four}), HasSubstr("no common size"));
  EXPECT_THAT(refused({four, one, Grayscale{}}), HasSubstr("op 3 (grayscale): random_apply: its ops make 1 of 3"));
  EXPECT_THAT(refused({four, one, RandomErasing{}, HorizontalFlip{}}), HasSubstr("put it last"));
  EXPECT_THAT(refused({four, one}), HasSubstr("op 2 (random_apply): it covers more ops"));
  EXPECT_THAT(refused({four, RandomApply{.count = INT32_MAX}, HorizontalFlip{}}), HasSubstr("more ops"));
  EXPECT_EQ(refused({four, RandomApply{.count = 2}, one, HorizontalFlip{}}), "accepted");
  EXPECT_THAT(refused({four, RandomApply{.count = 2}, RandomApply{.count = 2}, HorizontalFlip{}, HorizontalFlip{}}),
              HasSubstr("op 3 (random_apply): it covers more ops"));
}

TEST(Plan, MixesOnlyWhatHasLabelsThatAreClasses) {
  const auto picture = testing_pictures::png(8, 8, 1);
  const auto refused = [&](Mix mix, Targets targets, TensorFormat tensor = {}) {
    const auto source = *MemorySource::make({picture, picture}, nullptr, {}, std::move(targets));
    const auto plan =
        Plan::make({.parts = {testing_pictures::picture_part(
                        {.ops = {CenterCrop{.height = 4, .width = 4}}, .tensor = std::move(tensor), .mix = mix})}},
                   *source);
    return plan.ok() ? std::string("accepted") : plan.error().message;
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

TEST(Plan, TheFirstLabelIsMixedAndBecomesARowOfShares) {
  const auto picture = testing_pictures::png(8, 8, 1);
  const auto source =
      *MemorySource::make({picture}, nullptr, {}, Targets{.labels = {{"species", {2}}, {"site", {70}}}});
  const auto plan =
      *Plan::make({.parts = {testing_pictures::picture_part({.ops = {CenterCrop{.height = 4, .width = 4}},
                                                             .mix = Mix{.mixup_alpha = 1, .num_classes = 3}})}},
                  *source);
  const Column& species = plan->layout.columns()[plan->layout.find("species")];
  EXPECT_EQ(species.dtype, Dtype::kFloat32);
  EXPECT_EQ(species.row_shape, std::vector<std::int64_t>{3});
  const Column& site = plan->layout.columns()[plan->layout.find("site")];
  EXPECT_EQ(site.dtype, Dtype::kInt64);
  EXPECT_TRUE(site.row_shape.empty());
}

}  // namespace
}  // namespace drapps
