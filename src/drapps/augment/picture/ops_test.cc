// What holds for every op, whatever it does.
#include "drapps/augment/picture/ops.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

#include "drapps/augment/picture/testing.h"

namespace drapps {
namespace {

using testing::all_ops;
using testing::make_sample;
using testing::moving_ops;
using testing::pixels;

constexpr std::array<Extent, 5> kExtents{Extent{61, 83}, {83, 61}, {37, 5}, {2, 47}, {1, 1}};

/// All that is left of a sample after an op.
struct Outcome {
  std::vector<std::uint8_t> image;
  std::vector<std::uint8_t> mask;
  std::vector<Box> boxes;
  std::vector<std::int32_t> box_rows;
  std::vector<Rect> erased;
  Extent extent;
  std::int32_t channels = 0;
  bool operator==(const Outcome&) const = default;
};

Outcome outcome_of(const Picture& picture) {
  Outcome outcome{pixels(picture.image), pixels(*picture.mask), picture.boxes, picture.box_rows, {},
                  picture.extent,        picture.image.channels};
  for (const Erasure& erasure : picture.erasures) outcome.erased.push_back(erasure.rect);
  EXPECT_EQ(picture.window, geometry::whole_rect(picture.extent));
  EXPECT_EQ((Extent{picture.image.height, picture.image.width}), picture.extent);
  EXPECT_EQ((Extent{picture.mask->height, picture.mask->width}), picture.extent);
  return outcome;
}

/// The sample's views hold until the next call.
Outcome run_on(const Op& op, Picture& picture, const Draws& draws) {
  static Scratch scratch(MemoryLedger::unlimited());
  OpContext ctx{draws, scratch};
  const Status status = run(op, picture, ctx);
  EXPECT_TRUE(status.ok()) << (status.ok() ? "" : status.error().to_string());
  return outcome_of(picture);
}

Draws draws_at(std::uint64_t position) { return Draws({.seed = 11, .epoch = 2, .position = position}, 3); }

TEST(AllOps, AreFineAsTheTestsUseThem) {
  for (const Op& op : all_ops()) {
    const Status status = check(op);
    EXPECT_TRUE(status.ok()) << status.error().to_string();
  }
}

TEST(AllOps, HaveDistinctTagsAndVersions) {
  std::set<std::string_view> tags;
  for (const Op& op : all_ops()) {
    tags.insert(tag_of(op));
    EXPECT_GE(version_of(op), 1);
  }
  EXPECT_EQ(tags.size(), std::variant_size_v<Op>);
}

TEST(AllOps, GiveTheSameBytesFromAnyWindowThatContainsTheRegion) {
  for (const Op& op : all_ops()) {
    for (std::uint64_t position = 0; position < 30; ++position) {
      const Extent whole = kExtents[position % kExtents.size()];
      const Rect needed = region(op, whole, draws_at(position));
      ASSERT_TRUE(geometry::contains(geometry::whole_rect(whole), needed)) << tag_of(op);
      ASSERT_GE(needed.height, 1);
      ASSERT_GE(needed.width, 1);
      Draws margin({.seed = 5, .position = position}, 1);
      const auto more = [&](std::int32_t most) {
        return static_cast<std::int32_t>(margin.below(static_cast<std::uint32_t>(most) + 1));
      };
      Rect larger = needed;
      larger.top -= more(needed.top);
      larger.left -= more(needed.left);
      larger.height = needed.top + needed.height - larger.top + more(whole.height - needed.top - needed.height);
      larger.width = needed.left + needed.width - larger.left + more(whole.width - needed.left - needed.width);

      auto from_whole = make_sample(position, 3, whole);
      auto from_region = make_sample(position, 3, whole, needed);
      auto from_window = make_sample(position, 3, whole, larger);
      const Outcome expected = run_on(op, from_whole->picture, draws_at(position));
      EXPECT_EQ(run_on(op, from_region->picture, draws_at(position)), expected) << tag_of(op) << " at " << position;
      EXPECT_EQ(run_on(op, from_window->picture, draws_at(position)), expected) << tag_of(op) << " at " << position;
    }
  }
}

/// Whether pictures of one size come out in several.
bool varies_in_size(const Op& op) {
  const auto* keeping = std::get_if<ResizeKeepRatio>(&op);
  return std::holds_alternative<RandomResize>(op) || (keeping != nullptr && keeping->scale_p > 0);
}

TEST(AllOps, DrawFromTheirCoordinateAlone) {
  for (const Op& op : all_ops()) {
    std::set<std::string> seen;
    std::size_t erased = 0;
    for (std::uint64_t position = 0; position < 20; ++position) {
      auto once = make_sample(1, 3, {61, 83});
      auto again = make_sample(1, 3, {61, 83});
      const Outcome first = run_on(op, once->picture, draws_at(position));
      EXPECT_EQ(run_on(op, again->picture, draws_at(position)), first) << tag_of(op);
      seen.emplace(first.image.begin(), first.image.end());
      erased += first.erased.size();
    }
    const std::string tag(tag_of(op));
    const bool is_random =
        tag.starts_with("random_") || tag.ends_with("_flip") || tag == "color_jitter" || varies_in_size(op);
    EXPECT_EQ(draws(op), is_random) << tag;
    if (tag == "random_erasing") {
      EXPECT_GT(erased, 0u);
    } else if (tag != "random_apply") {  // which leaves the picture to the ops behind it
      EXPECT_EQ(seen.size() > 1, is_random) << tag;
    }
  }
}

TEST(AllOps, NeverWriteToThePictureTheyWereGiven) {
  for (const Op& op : all_ops()) {
    for (std::uint64_t position = 0; position < 6; ++position) {
      auto owned = make_sample(position, 3, {61, 83});
      const ImageView image = owned->picture.image;
      const ImageView mask = *owned->picture.mask;
      const auto before = std::pair(pixels(image), pixels(mask));
      run_on(op, owned->picture, draws_at(position));
      EXPECT_EQ(std::pair(pixels(image), pixels(mask)), before) << tag_of(op);
    }
  }
}

TEST(AllOps, MakeWhatTheyInfer) {
  for (const Op& op : all_ops()) {
    for (const std::int32_t channels : {1, 3}) {
      for (std::uint64_t position = 0; position < 10; ++position) {
        const Extent whole = kExtents[position % kExtents.size()];
        const PictureSpec fixed{.channels = channels, .extent = whole, .fixed = true, .has_mask = true};
        const PictureSpec bounded{.channels = channels, .extent = {83, 83}, .has_mask = true};
        const auto from_fixed = infer(op, fixed);
        const auto from_bounded = infer(op, bounded);
        ASSERT_TRUE(from_fixed.ok() && from_bounded.ok()) << tag_of(op);
        auto owned = make_sample(position, channels, whole);
        const Outcome outcome = run_on(op, owned->picture, draws_at(position));
        EXPECT_EQ(from_fixed->fixed, !varies_in_size(op)) << tag_of(op);
        if (from_fixed->fixed) {
          EXPECT_EQ(from_fixed->extent, outcome.extent) << tag_of(op);
        }
        EXPECT_EQ(from_fixed->channels, outcome.channels) << tag_of(op);
        EXPECT_EQ(from_bounded->channels, outcome.channels) << tag_of(op);
        if (from_bounded->fixed) {
          EXPECT_EQ(from_bounded->extent, outcome.extent) << tag_of(op);
        } else if (from_bounded->extent.height > 0) {
          EXPECT_LE(outcome.extent.height, from_bounded->extent.height) << tag_of(op);
          EXPECT_LE(outcome.extent.width, from_bounded->extent.width) << tag_of(op);
        }
        EXPECT_TRUE(outcome.erased.empty() || from_fixed->erased);
      }
    }
  }
}

TEST(AllOps, RefuseToTouchPixelsAfterAnErasure) {
  for (const Op& op : all_ops()) {
    const auto out = infer(op, {.extent = {90, 90}, .fixed = true, .erased = true});
    EXPECT_EQ(out.ok(), tag_of(op) == RandomErasing::kTag || tag_of(op) == RandomApply::kTag) << tag_of(op);
    if (!out.ok()) {
      EXPECT_THAT(out.error().message, ::testing::HasSubstr("put it last"));
    }
  }
}

TEST(MovingOps, MoveTheMaskWithThePicture) {
  for (const Op& op : moving_ops()) {
    for (std::uint64_t position = 0; position < 25; ++position) {
      auto owned = make_sample(position, 3, kExtents[position % kExtents.size()]);
      const Outcome outcome = run_on(op, owned->picture, draws_at(position));
      const std::vector<std::uint8_t> plane(outcome.image.begin(),
                                            outcome.image.begin() + static_cast<std::ptrdiff_t>(outcome.mask.size()));
      EXPECT_EQ(outcome.mask, plane) << tag_of(op) << " at " << position;
    }
  }
}

/// The box around the pixels of a mask that are 1; all zeros where there is none.
Box box_around_ones(ConstImageView mask) {
  Box box{1e9F, 1e9F, 0, 0};
  for (std::int32_t y = 0; y < mask.height; ++y) {
    for (std::int32_t x = 0; x < mask.width; ++x) {
      if (mask.row(0, y)[x] != 1) continue;
      box = {std::min(box.x0, static_cast<float>(x)), std::min(box.y0, static_cast<float>(y)),
             std::max(box.x1, static_cast<float>(x + 1)), std::max(box.y1, static_cast<float>(y + 1))};
    }
  }
  return box.x1 > 0 ? box : Box{};
}

TEST(MovingOps, MoveBoxesWithTheMask) {
  std::size_t kept = 0;
  std::size_t dropped = 0;
  for (const Op& op : moving_ops()) {
    const std::string tag(tag_of(op));
    for (std::uint64_t position = 0; position < 60; ++position) {
      auto owned = make_sample(position, 1, {61, 83});
      Picture& picture = owned->picture;
      const Box box{20 + static_cast<float>(position % 7), 10, 55, 30 + static_cast<float>(position % 11)};
      for (std::int32_t y = 0; y < 61; ++y) {
        for (std::int32_t x = 0; x < 83; ++x) {
          const auto fx = static_cast<float>(x);
          const auto fy = static_cast<float>(y);
          picture.mask->row(0, y)[x] = fx >= box.x0 && fx < box.x1 && fy >= box.y0 && fy < box.y1 ? 1 : 0;
        }
      }
      picture.boxes = {{0, 0, 0, 0}, box};
      picture.box_rows = {4, 8};
      run_on(op, picture, draws_at(position));
      // Borders of the other modes repeat parts of the mask, which no box follows.
      if (const auto* pad = std::get_if<Pad>(&op); pad != nullptr && pad->mode != PadMode::kConstant) continue;
      if (const auto* crop = std::get_if<CenterCrop>(&op); crop != nullptr && crop->mode != PadMode::kConstant)
        continue;
      if (const auto* crop = std::get_if<RandomCrop>(&op); crop != nullptr && crop->mode != PadMode::kConstant)
        continue;
      const Box around = box_around_ones(*picture.mask);
      const auto match = std::find(picture.box_rows.begin(), picture.box_rows.end(), 8);
      if (match == picture.box_rows.end()) {
        ++dropped;
        EXPECT_EQ(around, Box{}) << tag;
        continue;
      }
      ++kept;
      const Box moved = picture.boxes[static_cast<std::size_t>(match - picture.box_rows.begin())];
      // Nearest neighbour takes a pixel where the box covers its centre.
      const float tolerance = tag.find("resize") != std::string::npos ? 0.5F : 0.0F;
      if (around == Box{}) {
        EXPECT_LT(std::min(moved.x1 - moved.x0, moved.y1 - moved.y0), 2 * tolerance) << tag;
        continue;
      }
      EXPECT_NEAR(moved.x0, around.x0, tolerance + 1e-4F) << tag << " at " << position;
      EXPECT_NEAR(moved.y0, around.y0, tolerance + 1e-4F) << tag << " at " << position;
      EXPECT_NEAR(moved.x1, around.x1, tolerance + 1e-4F) << tag << " at " << position;
      EXPECT_NEAR(moved.y1, around.y1, tolerance + 1e-4F) << tag << " at " << position;
    }
  }
  EXPECT_GT(kept, 500u);
  EXPECT_GT(dropped, 5u);
}

TEST(Crop, KeepsItsRectangleAndRefusesPicturesWithoutIt) {
  const Crop crop{.top = 3, .left = 5, .height = 20, .width = 30};
  auto owned = make_sample(1, 3, {23, 35});
  const Outcome outcome = run_on(crop, owned->picture, draws_at(0));
  ASSERT_EQ(outcome.extent, (Extent{20, 30}));
  EXPECT_EQ(outcome.image[0], testing::noise(1, 0, 3, 5));
  EXPECT_EQ(outcome.image.back(), testing::noise(1, 2, 22, 34));

  EXPECT_TRUE(crop.infer({.extent = {23, 35}, .fixed = true}).ok());
  EXPECT_FALSE(crop.infer({.extent = {23, 34}, .fixed = true}).ok());
  for (const Extent small : {Extent{22, 35}, Extent{23, 34}}) {
    auto other = make_sample(1, 3, small);
    Scratch scratch(MemoryLedger::unlimited());
    OpContext ctx{draws_at(0), scratch};
    const Status status = crop.run(other->picture, ctx);
    ASSERT_FALSE(status.ok());
    EXPECT_EQ(status.error().code, ErrorCode::kInvalidArgument);
    EXPECT_NE(status.error().message.find("20 x 30 pixels from row 3 and column 5"), std::string::npos);
    EXPECT_EQ(crop.region(small, draws_at(0)), geometry::whole_rect(small));
  }
}

TEST(CenterCrop, RefusesSmallerPicturesWithoutPadding) {
  const CenterCrop crop{.height = 20, .width = 30, .pad = false};
  auto fits = make_sample(1, 3, {20, 31});
  EXPECT_EQ(run_on(crop, fits->picture, draws_at(0)).extent, (Extent{20, 30}));
  EXPECT_FALSE(crop.infer({.extent = {19, 31}, .fixed = true}).ok());
  auto small = make_sample(1, 3, {20, 29});
  Scratch scratch(MemoryLedger::unlimited());
  OpContext ctx{draws_at(0), scratch};
  const Status status = crop.run(small->picture, ctx);
  ASSERT_FALSE(status.ok());
  EXPECT_NE(status.error().message.find("20 x 30 does not fit a picture of 20 x 29"), std::string::npos);
}

TEST(MovingOps, DropEmptyBoxesWithTheirRows) {
  auto owned = make_sample(1, 3, {100, 100});
  owned->picture.boxes = {{0, 0, 30, 30}, {40, 40, 60, 50}, {90, 90, 200, 200}, {25, 10, 80, 35}};
  owned->picture.box_rows = {7, 5, 3, 1};
  run_on(CenterCrop{.height = 40, .width = 40}, owned->picture, draws_at(0));
  EXPECT_EQ(owned->picture.boxes, (std::vector<Box>{{10, 10, 30, 20}, {0, 0, 40, 5}}));
  EXPECT_EQ(owned->picture.box_rows, (std::vector<std::int32_t>{5, 1}));
}

}  // namespace
}  // namespace drapps
