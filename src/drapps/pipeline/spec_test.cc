#include "drapps/pipeline/spec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "drapps/modality/test_pictures.h"
#include "drapps/pipeline/plan.h"
#include "drapps/source/encoded.h"

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
  EXPECT_THAT(refusal(R"({"sampler":{"remainder":"maybe"}})"), HasSubstr("even, pad, drop"));
  EXPECT_THAT(refusal(R"({"parts":{"left":{"modality":"picture","ops":[{"op":"explode"}]}}})"),
              HasSubstr("parts.left: ops[0] names an unknown op"));
  EXPECT_THAT(refusal(R"({"ops":[],"parts":{"image":{"modality":"picture"}}})"), HasSubstr("in one place"));
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

}  // namespace
}  // namespace drapps
