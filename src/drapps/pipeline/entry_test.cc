// Where fetched records enter a plan: what comes out is the same from every place.
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "drapps/augment/picture/geometry.h"
#include "drapps/modality/test_pictures.h"
#include "drapps/pipeline/test_pass.h"
#include "drapps/source/encoded.h"

namespace drapps {
namespace {

constexpr std::uint32_t kPictures = 11;

/// Pictures in memory with the first `ops` ops behind them, their planes one after another.
class EnteredPictures final : public Source {
 public:
  EnteredPictures(std::vector<std::vector<std::uint8_t>> planes, std::vector<Extent> extents, std::uint32_t ops)
      : Source(planes.size(), Hint{}, {kImageName}),
        planes_(std::move(planes)),
        extents_(std::move(extents)),
        ops_(ops) {}

  Location locate(std::uint64_t index, RecordPart) const noexcept override {
    const Extent extent = extents_[index];
    const std::ptrdiff_t plane = std::ptrdiff_t{extent.height} * extent.width;
    return {.path = nullptr,
            .bytes = planes_[index],
            .contents = {.decoded = true, .ops = ops_, .layout = {3, extent, plane, extent.width, 1}}};
  }
  std::string name(std::uint64_t index, RecordPart) const override { return "entered[" + std::to_string(index) + "]"; }

 private:
  const std::vector<std::vector<std::uint8_t>> planes_;
  const std::vector<Extent> extents_;
  const std::uint32_t ops_;
};

class EntryTest : public testing::Test {
 protected:
  EntryTest() {
    spec_.sampler = {.shuffle = true, .seed = 3, .batch = 4};
    spec_.parts = {testing_pictures::picture_part({.ops = ops_})};
    auto bytes = std::make_shared<std::vector<std::vector<std::uint8_t>>>();
    std::vector<MemorySource::Bytes> records;
    for (std::uint32_t i = 0; i < kPictures; ++i) bytes->push_back(testing_pictures::png(30 + i % 7, 34 + i % 5, i));
    for (const auto& each : *bytes) records.emplace_back(each);
    encoded_ = *MemorySource::make(std::move(records), bytes);
  }

  std::shared_ptr<Source> after(std::uint32_t ops) const {
    std::vector<std::vector<std::uint8_t>> all;
    std::vector<Extent> extents;
    for (std::uint32_t i = 0; i < kPictures; ++i) {
      PictureState work(MemoryLedger::unlimited(), nullptr);
      const auto bytes = encoded_->locate(i, kFirstPart).bytes;
      const auto info = *work.decoder.inspect(bytes, {});
      const Rect whole = geometry::whole_rect(info.extent);
      work.picture = {.image = *work.decoder.decode(bytes, info, whole, {}, work.scratch.next_image_buffer()),
                      .extent = info.extent,
                      .window = whole};
      for (std::uint32_t k = 0; k < ops; ++k) {
        OpContext context{Draws({}, 0), work.scratch};
        EXPECT_TRUE(run(ops_[k], work.picture, context).ok());
      }
      const ImageView& image = work.picture.image;
      auto& planes = all.emplace_back();
      for (std::int32_t c = 0; c < 3; ++c) {
        for (std::int32_t y = 0; y < image.height; ++y) {
          planes.insert(planes.end(), image.row(c, y), image.row(c, y) + image.width);
        }
      }
      extents.push_back(work.picture.extent);
    }
    return std::make_shared<EnteredPictures>(std::move(all), std::move(extents), ops);
  }
  std::vector<std::string> images(const std::shared_ptr<Source>& source, bool fused) {
    return test_pass::drain(*test_pass::start(engine_, *Plan::make(spec_, *source), source, fused), "image");
  }

  Engine engine_;
  const std::vector<Op> ops_{CenterCrop{.height = 28, .width = 28}, Resize{.height = 20, .width = 18},
                             RandomCrop{.height = 16, .width = 16}, HorizontalFlip{}};
  PipelineSpec spec_;
  std::shared_ptr<Source> encoded_;
};

TEST_F(EntryTest, APictureOrTheOutputOfAnOpMakesTheSameBatches) {
  const auto expected = images(encoded_, true);
  ASSERT_EQ(expected.size(), 3u);
  for (std::uint32_t ops = 0; ops <= 2; ++ops) {
    for (const bool fused : {true, false}) EXPECT_EQ(images(after(ops), fused), expected) << ops;
  }
  EXPECT_EQ((*Plan::make(spec_, *encoded_))->parts[0]->fixed_ops(), 2u);
}

TEST_F(EntryTest, BehindAnOpThatDrawsNothingEnters) {
  for (const std::string& message : images(after(3), true)) {
    EXPECT_NE(message.find("pictures with 3 ops behind them do not fit: the first 2 draw nothing"), std::string::npos);
  }
}

}  // namespace
}  // namespace drapps
