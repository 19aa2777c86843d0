// Bad parameters and unfit pictures are refused by name.
#include "drapps/augment/picture/checks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "drapps/augment/picture/testing.h"

namespace drapps {
namespace {

using ::testing::HasSubstr;

TEST(Check, NamesTheParameterThatIsOutOfRange) {
  const std::pair<Op, const char*> cases[] = {
      {RandomResizedCrop{.height = 0}, "random_resized_crop: the size is 0 x 224"},
      {RandomResizedCrop{.width = kMaxSide + 1}, "from 1 to 1048576"},
      {RandomResizedCrop{.scale = {0.5, 0.4}}, "scale is [0.5, 0.4]"},
      {RandomResizedCrop{.scale = {-0.5, 0.4}}, "scale"},
      {RandomResizedCrop{.ratio = {0.0, 1.0}}, "ratio"},
      {RandomResizedCrop{.ratio = {1.0, NAN}}, "ratio"},
      {RandomResizedCrop{.ratio = {1.0, INFINITY}}, "ratio"},
      {Resize{}, "resize: the size is 0 x 0"},
      {Resize{.height = 3}, "3 x 0"},
      {Resize{.height = 3, .width = 3, .short_side = 2}, "give one of them"},
      {Resize{.short_side = 10, .max_size = 10}, "max_size is 10, which must be above"},
      {Resize{.short_side = -1}, "-1"},
      {Resize{.short_side = 10, .interpolation = Interpolation::kRandom}, "cannot be random"},
      {Resize{.short_side = 10, .interpolation = Interpolation::kNearest, .arithmetic = kernel::Arithmetic::kTorch},
       "torch_uint8 has no nearest"},
      {RandomResizedCrop{.pass_order = kernel::PassOrder::kPillow13,
                         .arithmetic = kernel::Arithmetic::kTorchNoAntialias},
       "torch_uint8_no_antialias runs the horizontal pass first"},
      {Resize{
           .short_side = 10, .interpolation = Interpolation::kBicubic, .arithmetic = kernel::Arithmetic::kTorchFloat},
       "torch_float is bilinear alone"},
      {CenterCrop{.height = -4}, "center_crop"},
      {Crop{.width = 0}, "crop: "},
      {Crop{.top = -1}, "a corner at -1 x 0"},
      {RandomCrop{.width = 0}, "random_crop"},
      {RandomCrop{.pad_left = -1}, "a border of -1 pixels"},
      {RandomCrop{.fill = {}}, "fill has 0 levels"},
      {RandomCrop{.fill = {256}}, "a level of 256"},
      {RandomCrop{.mask_fill = -1}, "mask_fill is -1"},
      {Pad{.top = -2}, "pad: a border of -2"},
      {HorizontalFlip{.p = 1.5}, "horizontal_flip: p is 1.5"},
      {VerticalFlip{.p = -0.5}, "vertical_flip: p is -0.5"},
      {VerticalFlip{.p = NAN}, "vertical_flip"},
      {ColorJitter{.brightness = {-0.1, 1.0}}, "brightness"},
      {ColorJitter{.contrast = {2.0, 1.0}}, "contrast"},
      {ColorJitter{.saturation = {0.0, NAN}}, "saturation"},
      {ColorJitter{.hue = {-0.6, 0.1}}, "hue is [-0.6, 0.1]"},
      {Grayscale{.channels = 2}, "channels is 2"},
      {RandomGrayscale{.p = 2}, "random_grayscale"},
      {RandomErasing{.p = 2}, "random_erasing: p is 2"},
      {RandomErasing{.scale = {0.1, 1.1}}, "scale"},
      {RandomErasing{.ratio = {-1.0, 1.0}}, "ratio"},
      {RandomErasing{.value = {}}, "value has 0 numbers"},
      {RandomErasing{.value = {INFINITY}}, "not finite"},
      {RandomErasing{.min_count = 0}, "from 0 to 1 rectangles"},
      {RandomErasing{.min_count = 3, .max_count = 2}, "from 3 to 2"},
  };
  for (const auto& [op, message] : cases) {
    const Status status = check(op);
    ASSERT_FALSE(status.ok()) << message;
    EXPECT_EQ(status.error().code, ErrorCode::kInvalidArgument);
    EXPECT_THAT(status.error().message, HasSubstr(message));
    EXPECT_THAT(status.error().message, HasSubstr(std::string(tag_of(op))));
  }
}

TEST(Infer, RefusesWhatCannotFit) {
  const PictureSpec small{.channels = 3, .extent = {20, 30}, .fixed = true};
  const PictureSpec thin{.channels = 3, .extent = {1, 3000}, .fixed = true};
  const std::pair<Op, PictureSpec> cases[] = {
      {RandomCrop{.height = 21, .width = 10}, small},
      {RandomCrop{.height = 10, .width = 10, .fill = {1, 2}}, small},
      {Pad{.fill = {1, 2}}, small},
      {Resize{.short_side = 10, .max_size = 100}, thin},
      {RandomErasing{.value = {1, 2}}, small},
  };
  for (const auto& [op, in] : cases) {
    ASSERT_TRUE(check(op).ok());
    const auto out = infer(op, in);
    ASSERT_FALSE(out.ok()) << tag_of(op);
    EXPECT_EQ(out.error().stage, Stage::kSetup);
  }
}

TEST(Run, RefusesPicturesThatDoNotFit) {
  const std::pair<Op, Extent> cases[] = {
      {RandomCrop{.height = 21, .width = 10}, Extent{20, 30}},
      {Resize{.short_side = 10, .max_size = 100}, Extent{1, 3000}},
      {Resize{.short_side = 1 << 19}, Extent{1, 3}},
  };
  Scratch scratch(MemoryLedger::unlimited());
  for (const auto& [op, whole] : cases) {
    auto owned = testing::make_sample(1, 3, whole);
    OpContext ctx{Draws({}, 1), scratch};
    const Status status = run(op, owned->picture, ctx);
    ASSERT_FALSE(status.ok()) << tag_of(op);
    EXPECT_EQ(status.error().stage, Stage::kAugment);
    EXPECT_THAT(status.error().message, HasSubstr(std::to_string(whole.height) + " x " + std::to_string(whole.width)));
  }
}

TEST(Run, SaysSoWhereTheMemoryBudgetIsTooSmall) {
  MemoryLedger ledger(100000);
  Scratch scratch(ledger);
  auto owned = testing::make_sample(1, 3, {20, 20});
  OpContext ctx{Draws({}, 1), scratch};
  const Status status = Resize{.height = 1000, .width = 1000}.run(owned->picture, ctx);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, ErrorCode::kResourceExhausted);
}

TEST(EnumNames, ParseWhatTheyPrint) {
  for (const PadMode mode : {PadMode::kConstant, PadMode::kEdge, PadMode::kReflect, PadMode::kSymmetric}) {
    PadMode parsed = PadMode::kConstant;
    EXPECT_TRUE(parse(name_of(mode), parsed));
    EXPECT_EQ(parsed, mode);
  }
  EXPECT_EQ(name_of(kernel::PassOrder::kPillow13), "pillow13");
  EXPECT_EQ(name_of(kernel::Arithmetic::kTorch), "torch_uint8");
  EXPECT_EQ(name_of(Interpolation::kRandom), "random");
  EXPECT_EQ(name_of(EraseMode::kNormalPerPixel), "normal_per_pixel");
  Interpolation kept = Interpolation::kBicubic;
  EXPECT_FALSE(parse("lanczos", kept));
  EXPECT_EQ(kept, Interpolation::kBicubic);
}

}  // namespace
}  // namespace drapps
