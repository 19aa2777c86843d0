// The augment kernel, run on the host, against the ops and the writer of the CPU path: byte for byte.
#include "drapps/device/augment_list.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "drapps/augment/picture/testing.h"
#include "drapps/base/full_testing.h"
#include "drapps/batch/row.h"
#include "drapps/device/kernel/body.h"

namespace drapps::device {
namespace {

/// How the bytes of a picture lie in the array that holds it.
struct Lying {
  bool interleaved;
  std::int64_t channel_stride, row_stride, pixel_stride;

  static Lying of(bool interleaved, std::int32_t channels, Extent extent) {
    const std::int64_t row = std::int64_t{extent.width} * (interleaved ? channels : 1);
    return {interleaved, interleaved ? 1 : row * extent.height, row, interleaved ? channels : 1};
  }
};

/// Runs launches at once, block by block, from some thread on; a block's memory is noise when it begins.
class BlockStream final : public Stream {
 public:
  explicit BlockStream(std::int32_t turn) : turn_(turn) {}
  Status launch(KernelId id, std::int64_t blocks, const void* arguments) override {
    const Kernel& what = kernel(id);
    std::vector<std::max_align_t> shared(what.shared_bytes / sizeof(std::max_align_t) + 1);
    auto* const bytes = reinterpret_cast<std::byte*>(shared.data());
    for (std::int64_t block = 0; block < blocks; ++block) {
      std::fill_n(bytes, what.shared_bytes, std::byte{0xA5});
      what.run_block(static_cast<const std::byte*>(arguments), bytes, static_cast<std::int32_t>(block),
                     turn_ % what.threads);
    }
    return ok_status();
  }
  Status copy_in(std::byte* /*device*/, const std::byte* /*host*/, std::size_t /*bytes*/) override { return none(); }
  Status copy_out(std::byte* /*host*/, const std::byte* /*device*/, std::size_t /*bytes*/) override { return none(); }
  Status record(Event& /*event*/) override { return none(); }
  Status wait(Event& /*event*/) override { return none(); }

 private:
  static Status none() { return invalid("launches alone"); }
  const std::int32_t turn_;
};

/// Pictures of one size, and what the CPU path and the kernel make of them.
class Comparison {
 public:
  Comparison(std::uint64_t seed, std::int32_t channels, Extent extent, bool interleaved, std::vector<Op> ops,
             const TensorFormat& format)
      : seed_(seed),
        channels_(channels),
        extent_(extent),
        lying_(Lying::of(interleaved, channels, extent)),
        ops_(std::move(ops)),
        format_(format) {}

  /// Compares `count` pictures; false where the ops do not fit the size, or leave pictures of several sizes.
  bool run(std::size_t count, std::int32_t turn) {
    PictureSpec spec{.channels = channels_, .extent = extent_, .fixed = true};
    for (const Op& op : ops_) {
      if (std::holds_alternative<RandomApply>(op)) return false;
      auto next = infer(op, spec);
      if (!next.ok()) return false;
      spec = *next;
    }
    auto writer = PictureWriter::make(format_, spec);
    if (!writer.ok()) return false;
    for (std::size_t i = 0; i < count; ++i) add(i, *writer);
    launch(*writer, turn);
    EXPECT_EQ(output_, expected_) << describe();
    return true;
  }

 private:
  std::string describe() const {
    std::string text = std::to_string(channels_) + " x " + std::to_string(extent_.height) + " x " +
                       std::to_string(extent_.width) + ", seed " + std::to_string(seed_) + ":";
    for (const Op& op : ops_) text += " " + std::string(tag_of(op));
    return text;
  }

  void add(std::size_t i, const PictureWriter& writer) {
    const auto owned = testing::make_sample(seed_ + i, channels_, extent_);
    Picture& picture = owned->picture;
    picture.mask.reset();
    picture.boxes.clear();
    picture.box_rows.clear();
    const std::size_t first = pictures_.size();
    pictures_.resize(first + static_cast<std::size_t>(channels_) * extent_.height * extent_.width);
    for (std::int32_t c = 0; c < channels_; ++c) {
      for (std::int32_t y = 0; y < extent_.height; ++y) {
        for (std::int32_t x = 0; x < extent_.width; ++x) {
          pictures_[first + c * lying_.channel_stride + y * lying_.row_stride + x * lying_.pixel_stride] =
              picture.image.row(c, y)[x];
        }
      }
    }
    Picture noted;
    noted.image.channels = channels_;
    noted.extent = extent_;
    noted.window = geometry::whole_rect(extent_);
    Trail trail;
    for (std::size_t op = 0; op < ops_.size(); ++op) {
      const Draws draws({.seed = seed_, .position = i}, static_cast<std::uint16_t>(op + 1));
      OpContext context{draws, scratch_, op + 1 == ops_.size()};
      ASSERT_TRUE(drapps::run(ops_[op], picture, context).ok());
      OpContext written{draws, scratch_, op + 1 == ops_.size()};
      written.trail = &trail;
      ASSERT_TRUE(drapps::run(ops_[op], noted, written).ok());
      ASSERT_EQ(noted.extent, picture.extent);
      ASSERT_EQ(noted.image.channels, picture.image.channels);
    }
    expected_.resize(expected_.size() + writer.bytes());
    ASSERT_TRUE(writer.write(picture, expected_.data() + i * writer.bytes()).ok());
    const auto row = static_cast<std::int64_t>(i * writer.bytes());
    if (i % 2 == 0) {
      ASSERT_TRUE(list_.add(static_cast<std::int64_t>(first), row, trail, writer.format().dtype).ok());
      return;
    }
    const Draws draws({.seed = seed_, .position = i}, 1);
    const Rect whole = geometry::whole_rect(extent_);
    const Rect window = ops_.empty() ? whole : region(ops_.front(), extent_, draws);
    const auto place = list_.add_window(window, channels_, row, trail, writer.format().dtype);
    ASSERT_TRUE(place.ok());
    windows_.push_back({window, first, *place});
  }

  /// Puts the pixels of every second picture where the kernels read them.
  void put_windows(std::uint8_t* kept) const {
    for (const auto& [window, first, place] : windows_) {
      std::uint8_t* out = kept + place;
      for (std::int32_t c = 0; c < channels_; ++c) {
        for (std::int32_t y = window.top; y < window.top + window.height; ++y) {
          for (std::int32_t x = window.left; x < window.left + window.width; ++x) {
            *out++ = pictures_[first + c * lying_.channel_stride + y * lying_.row_stride + x * lying_.pixel_stride];
          }
        }
      }
    }
  }

  void launch(const PictureWriter& writer, std::int32_t turn) {
    const std::vector<std::byte> table = writer.table();
    std::vector<std::uint64_t> memory(list_.device_bytes() / 8 + 1);
    auto* const copy = reinterpret_cast<std::byte*>(memory.data());
    output_.assign(expected_.size(), std::byte{0xEE});
    AugmentArguments arguments{.pictures = pictures_.data(),
                               .channel_stride = lying_.channel_stride,
                               .row_stride = lying_.row_stride,
                               .pixel_stride = lying_.pixel_stride,
                               .picture_channels = channels_,
                               .table = table.data(),
                               .out = reinterpret_cast<std::uint8_t*>(output_.data()),
                               .element_bytes = static_cast<std::int32_t>(size_of(writer.format().dtype)),
                               .number = number_of(writer.format().dtype),
                               .interleaved = writer.format().layout == Layout::kNhwc ? 1 : 0,
                               .channels = writer.channels(),
                               .height = writer.extent().height,
                               .width = writer.extent().width};
    list_.put(copy, copy, arguments);
    put_windows(arguments.kept);
    BlockStream stream(turn);
    ASSERT_TRUE(list_.launch(stream, arguments).ok());
  }

  /// Of a picture of which what its first op reads is all that is there.
  struct Window {
    Rect rect;
    std::size_t first;   // of its pixels in pictures_
    std::int64_t place;  // behind AugmentArguments::kept
  };

  std::uint64_t seed_;
  std::int32_t channels_;
  Extent extent_;
  Lying lying_;
  std::vector<Op> ops_;
  TensorFormat format_;
  Scratch scratch_{MemoryLedger::unlimited()};
  AugmentList list_{MemoryLedger::unlimited()};
  std::vector<std::uint8_t> pictures_;
  std::vector<Window> windows_;
  std::vector<std::byte> expected_, output_;
};

/// Formats that have every dtype, layout and way to a number.
std::vector<TensorFormat> formats() {
  std::vector<TensorFormat> formats;
  for (const Layout layout : {Layout::kNchw, Layout::kNhwc}) {
    for (const Dtype dtype : {Dtype::kUint8, Dtype::kInt32, Dtype::kInt64}) {
      formats.push_back({.dtype = dtype, .layout = layout, .scale = false});
    }
    for (const Dtype dtype : {Dtype::kFloat32, Dtype::kBfloat16, Dtype::kFloat16}) {
      formats.push_back({.dtype = dtype, .layout = layout});
      formats.push_back({.dtype = dtype, .layout = layout, .mean = {0.4F}, .std = {0.3F}});
    }
  }
  return formats;
}

std::vector<Op> ops_of_the_kernel() {
  std::vector<Op> ops;
  for (const Op& op : testing::all_ops()) {
    if (check_on_device(std::span(&op, 1)).ok()) ops.push_back(op);
  }
  return ops;
}

TEST(AugmentKernel, MakesTheBytesOfEveryOp) {
  std::uint64_t seed = 0;
  for (const Op& op : ops_of_the_kernel()) {
    // What ends in several sizes is cropped to one.
    for (const bool cropped : {false, true}) {
      std::vector<Op> ops{op};
      if (cropped) ops.emplace_back(CenterCrop{.height = 37, .width = 21});
      const auto all = formats();
      ++seed;
      Comparison(seed, 1 + static_cast<std::int32_t>(seed % 4), {61, 47}, seed % 2 == 0, ops, all[seed % all.size()])
          .run(3, static_cast<std::int32_t>(seed * 37 % 256));
    }
  }
  EXPECT_GT(seed, 40);
}

TEST(AugmentKernel, MakesTheBytesOfRandomChains) {
  const auto ops = ops_of_the_kernel();
  const auto all = formats();
  std::uint64_t compared = 0;
  const std::uint64_t seeds = full_tests() ? 600 : 200;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    Draws draws({.seed = seed}, 1);
    const auto below = [&](std::size_t bound) {
      return static_cast<std::int32_t>(draws.below(static_cast<std::uint32_t>(bound)));
    };
    std::vector<Op> chain;
    for (std::int32_t i = below(5); i > 0; --i) chain.push_back(ops[static_cast<std::size_t>(below(ops.size()))]);
    if (!check_on_device(chain).ok()) continue;
    const Extent extent{1 + below(90), 1 + below(90)};
    Comparison comparison(seed, 1 + below(4), extent, below(2) == 0, chain,
                          all[static_cast<std::size_t>(below(all.size()))]);
    if (comparison.run(2, below(256))) ++compared;
  }
  EXPECT_GT(compared, seeds / 4);
}

std::vector<Op> strong_colors() {
  const ColorJitter jitter{.brightness = {0.2, 3}, .contrast = {0.2, 3}, .saturation = {0, 3}, .hue = {-0.5, 0.5}};
  const RandomCrop padded{
      .height = 40, .width = 37, .pad_left = 6, .pad_top = 9, .pad_right = 7, .pad_bottom = 3, .fill = {200, 30, 99}};
  RandomCrop mirrored = padded;
  mirrored.mode = PadMode::kReflect;
  return {jitter, padded, mirrored, HorizontalFlip{}, RandomGrayscale{.p = 0.5}, Grayscale{.channels = 3}};
}

/// Chains of colours among moves: of borders some are filled before a change, and some behind it; of contrasts each
/// blends with the mean of the picture as it is then.
TEST(AugmentKernel, MakesTheBytesOfColoursAmongMoves) {
  const auto ops = strong_colors();
  const auto all = formats();
  std::uint64_t compared = 0;
  const std::uint64_t seeds = full_tests() ? 200 : 70;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    Draws draws({.seed = seed}, 2);
    const auto below = [&](std::size_t bound) {
      return static_cast<std::int32_t>(draws.below(static_cast<std::uint32_t>(bound)));
    };
    std::vector<Op> chain;
    if (below(2) == 0) chain.emplace_back(RandomResizedCrop{.height = 38, .width = 44});
    for (std::int32_t i = 1 + below(5); i > 0; --i) chain.push_back(ops[static_cast<std::size_t>(below(ops.size()))]);
    if (below(3) == 0) chain.emplace_back(CenterCrop{.height = 33, .width = 35});
    if (below(3) == 0) chain.emplace_back(Grayscale{.channels = 1});
    for (std::int32_t i = below(3); i > 0; --i) {
      chain.emplace_back(RandomErasing{.p = 1, .mode = static_cast<EraseMode>(below(3)), .max_count = 3});
    }
    Comparison comparison(seed, 3, {31 + below(40), 38 + below(40)}, below(2) == 0, chain,
                          all[static_cast<std::size_t>(below(all.size()))]);
    if (comparison.run(3, below(256))) ++compared;
  }
  EXPECT_GT(compared, seeds * 3 / 4);
}

/// Pictures that are kept between two resizes, of several sizes and channels, with contrasts on either side.
TEST(AugmentKernel, MakesTheBytesOfSeveralResizes) {
  const std::vector<Op> ops{
      RandomResizedCrop{.height = 30, .width = 26},
      RandomResize{.min_size = 20, .max_size = 33},
      Resize{.height = 41, .width = 23, .interpolation = Interpolation::kBicubic},
      ColorJitter{.brightness = {0.2, 3}, .contrast = {0.2, 3}, .saturation = {0, 3}, .hue = {-0.5, 0.5}},
      Grayscale{.channels = 3},
      RandomGrayscale{.p = 0.5},
      RandomCrop{.height = 19, .width = 18, .pad_left = 3, .pad_top = 2, .fill = {9, 200, 31}},
      HorizontalFlip{}};
  const auto all = formats();
  std::uint64_t compared = 0;
  const std::uint64_t seeds = full_tests() ? 200 : 70;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    Draws draws({.seed = seed}, 3);
    const auto below = [&](std::size_t bound) {
      return static_cast<std::int32_t>(draws.below(static_cast<std::uint32_t>(bound)));
    };
    std::vector<Op> chain;
    for (std::int32_t i = 2 + below(5); i > 0; --i) chain.push_back(ops[static_cast<std::size_t>(below(ops.size()))]);
    if (below(4) == 0) chain.emplace_back(Grayscale{.channels = 1});
    chain.emplace_back(RandomResizedCrop{.height = 17, .width = 24});
    if (below(2) == 0) chain.emplace_back(RandomErasing{.p = 1});
    Comparison comparison(seed, below(4) == 0 ? 1 : 3, {31 + below(40), 38 + below(40)}, below(2) == 0, chain,
                          all[static_cast<std::size_t>(below(all.size()))]);
    if (comparison.run(3, below(256))) ++compared;
  }
  EXPECT_GT(compared, seeds * 3 / 5);
}

/// Shrinks by so much that the lines of a tile do not fit what a block has of shared memory.
TEST(AugmentKernel, MakesTheBytesOfLargePictures) {
  for (const auto order : {kernel::PassOrder::kHorizontalFirst, kernel::PassOrder::kPillow13}) {
    for (const auto interpolation : {Interpolation::kBilinear, Interpolation::kBicubic}) {
      const Resize resize{.height = 9, .width = 35, .interpolation = interpolation, .pass_order = order};
      EXPECT_TRUE(Comparison(5, 3, {700, 90}, true, {resize, HorizontalFlip{.p = 1}}, {}).run(1, 3));
      EXPECT_TRUE(Comparison(6, 3, {70, 900}, false, {resize, VerticalFlip{.p = 1}}, {}).run(1, 9));
    }
  }
}

TEST(AugmentKernel, MovesThatReadNoBorderAreOne) {
  AugmentList list(MemoryLedger::unlimited());
  Picture picture;
  picture.extent = {32, 32};
  Scratch scratch(MemoryLedger::unlimited());
  Trail trail;
  OpContext ctx{Draws({}, 1), scratch};
  ctx.trail = &trail;
  for (const Op& op : std::vector<Op>{
           RandomCrop{.height = 32, .width = 32, .pad_left = 4, .pad_top = 4, .pad_right = 4, .pad_bottom = 4},
           HorizontalFlip{.p = 1}, Crop{.top = 1, .left = 2, .height = 9, .width = 5}}) {
    ASSERT_TRUE(run(op, picture, ctx).ok());
  }
  ASSERT_EQ(trail.steps.size(), 3);
  ASSERT_TRUE(list.add(0, 0, trail, Dtype::kUint8).ok());
  EXPECT_EQ(list.bytes(), sizeof(PictureWork) + sizeof(PictureMove));
}

TEST(AugmentKernel, SaysWhichOpItCannotDo) {
  const auto message = [](const std::vector<Op>& ops) { return check_on_device(ops).error().message; };
  EXPECT_EQ(message({Resize{.arithmetic = kernel::Arithmetic::kTorchFloat}}),
            "op 1 (resize) resizes by floats, which no kernel of a device does");
  EXPECT_TRUE(check_on_device(std::vector<Op>{RandomCrop{}, HorizontalFlip{}, Resize{}}).ok());
  EXPECT_FALSE(keeps_pictures(std::vector<Op>{RandomCrop{}, Resize{}, ColorJitter{}}));
  EXPECT_TRUE(keeps_pictures(std::vector<Op>{Grayscale{}, Crop{}, Resize{}}));
  EXPECT_TRUE(keeps_pictures(std::vector<Op>{Resize{}, HorizontalFlip{}, RandomResizedCrop{}}));
}

}  // namespace
}  // namespace drapps::device
