// From JPEGs to rows of a batch on the host device: decoded there, then augmented there, against the decoder, the ops
// and the writer of the CPU. Pixels never come back in between.
#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "drapps/augment/picture/testing.h"
#include "drapps/batch/row.h"
#include "drapps/decode/jpeg/reader_testing.h"
#include "drapps/decode/testing.h"
#include "drapps/device/aligned.h"
#include "drapps/device/augment_list.h"
#include "drapps/device/host/host_device.h"
#include "drapps/device/jpeg_decoder.h"

namespace drapps::device {
namespace {

using drapps::testing::encode_jpeg;
using jpeg::testing::OneIndex;

constexpr std::uint64_t kSeed = 21;
constexpr std::size_t kPictures = 12;

class JpegsToRows : public ::testing::Test {
 protected:
  static Draws draws(std::size_t position, std::size_t op) {
    return Draws({.seed = kSeed, .position = position}, static_cast<std::uint16_t>(op + 1));
  }

  /// Runs the ops on a picture, or notes them in its trail.
  void run_ops(Picture& picture, std::size_t position, Trail* trail) {
    for (std::size_t op = 0; op < ops_.size(); ++op) {
      OpContext context{draws(position, op), scratch_, op + 1 == ops_.size()};
      context.trail = trail;
      ASSERT_TRUE(drapps::run(ops_[op], picture, context).ok());
    }
  }

  /// What the first op reads of a file.
  Picture picture_of(const ImageInfo& info, std::size_t position) const {
    Picture picture;
    picture.image.channels = 3;
    picture.extent = info.stored;
    picture.window = region(ops_.front(), info.stored, draws(position, 0));
    return picture;
  }

  const std::vector<Op> ops_{RandomResizedCrop{.height = 40, .width = 56},
                             ColorJitter{.contrast = {0.5, 2}, .saturation = {0, 2}, .hue = {-0.5, 0.5}},
                             HorizontalFlip{}, RandomErasing{.p = 1, .mode = EraseMode::kNormalPerPixel}};
  Scratch scratch_{MemoryLedger::unlimited()};
  HostDevice device_;
};

TEST_F(JpegsToRows, AreThoseOfTheCpu) {
  PictureSpec spec{.channels = 3, .extent = {40, 56}, .fixed = true};
  const PictureWriter writer =
      PictureWriter::make({.dtype = Dtype::kFloat32, .mean = {0.4F}, .std = {0.3F}}, spec).value();
  const auto decoder = JpegDecoder::make(device_, MemoryLedger::unlimited(), 3, {}).value();
  jpeg::JpegReader reader(MemoryLedger::unlimited());
  ImageBuffer image(MemoryLedger::unlimited());
  std::vector<std::byte> expected(kPictures * writer.bytes());
  std::vector<Trail> trails(kPictures);
  std::vector<Rect> windows;
  for (std::size_t i = 0; i < kPictures; ++i) {
    const auto& [name, components, across, down] = jpeg::testing::kSamplings[i % 5];
    const Extent extent{90 + static_cast<std::int32_t>(i) * 7, 160 - static_cast<std::int32_t>(i) * 3};
    const auto file = encode_jpeg(extent, {.horizontal = across, .vertical = down, .seed = static_cast<unsigned>(i)});
    const ImageInfo info = jpeg::inspect(file, {}).value();
    OneIndex index(i % 2 == 0);
    const jpeg::IndexUse use{&index, {}, nullptr};
    const ImageView whole = image.reshape(3, extent.height, extent.width).value();
    ASSERT_TRUE(reader.read(file, info, {0, 0, extent.height, extent.width}, whole, &use).ok());

    Picture picture = picture_of(info, i);
    windows.push_back(picture.window);
    picture.image = whole.crop(picture.window);
    run_ops(picture, i, nullptr);
    ASSERT_TRUE(writer.write(picture, expected.data() + i * writer.bytes()).ok());

    Picture noted = picture_of(info, i);
    run_ops(noted, i, &trails[i]);
    ASSERT_EQ(decoder->add(file, info, windows[i], use).value(), JpegTaken::kTaken) << name;
  }

  const auto stream = device_.stream().value();
  const auto event = device_.event().value();
  ASSERT_TRUE(decoder->launch(*stream).ok());
  const JpegDecoder::Pixels first = decoder->pixels(0);
  AugmentList list(MemoryLedger::unlimited());
  for (std::size_t i = 0; i < kPictures; ++i) {
    // Moves are of the whole picture, of which the window alone is there.
    const std::int64_t origin = windows[i].top * first.row_bytes + windows[i].left * std::int64_t{3};
    const auto row = static_cast<std::int64_t>(i * writer.bytes());
    ASSERT_TRUE(list.add(decoder->pixels(i).first - first.first - origin, row, trails[i], Dtype::kFloat32).ok());
  }
  const std::vector<std::byte> table = writer.table();
  const std::size_t rows_at = aligned(table.size() + list.device_bytes());
  const Memory pinned = device_.allocate(Where::kPinned, rows_at + expected.size()).value();
  const Memory there = device_.allocate(Where::kDevice, rows_at + expected.size()).value();
  AugmentArguments arguments{.pictures = first.first,
                             .channel_stride = 1,
                             .row_stride = first.row_bytes,
                             .pixel_stride = 3,
                             .picture_channels = 3,
                             .table = there.data(),
                             .out = reinterpret_cast<std::uint8_t*>(there.data() + rows_at),
                             .element_bytes = 4,
                             .number = Number::kFloat32,
                             .channels = 3,
                             .height = 40,
                             .width = 56};
  std::memcpy(pinned.data(), table.data(), table.size());
  list.put(pinned.data() + table.size(), there.data() + table.size(), arguments);
  ASSERT_TRUE(stream->copy_in(there.data(), pinned.data(), rows_at).ok());
  ASSERT_TRUE(list.launch(*stream, arguments).ok());
  ASSERT_TRUE(stream->copy_out(pinned.data() + rows_at, there.data() + rows_at, expected.size()).ok());
  ASSERT_TRUE(stream->record(*event).ok());
  ASSERT_TRUE(event->wait().ok());
  for (std::size_t i = 0; i < kPictures; ++i) {
    EXPECT_TRUE(decoder->right(i));
    const std::size_t at = i * writer.bytes();
    EXPECT_EQ(std::memcmp(pinned.data() + rows_at + at, expected.data() + at, writer.bytes()), 0) << i;
  }
}

}  // namespace
}  // namespace drapps::device
