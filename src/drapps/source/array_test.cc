#include "drapps/source/array.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <vector>

#include "drapps/kernel/pixels.h"

namespace drapps {
namespace {

using Subset = std::shared_ptr<const std::vector<std::uint64_t>>;

std::vector<std::uint8_t> ramp(std::size_t bytes) {
  std::vector<std::uint8_t> values(bytes);
  for (std::size_t i = 0; i < bytes; ++i) values[i] = static_cast<std::uint8_t>(i * 2654435761u >> 11);
  return values;
}

Array array_of(const char* name, std::uint64_t rows) {
  return {.name = name, .dtype = Dtype::kInt64, .row_shape = {2}, .stride = 16, .rows = rows};
}

std::string refused(std::vector<Array> arrays, std::optional<PictureArray> picture = std::nullopt,
                    Subset subset = nullptr) {
  const auto source = ArraySource::make(std::move(arrays), std::move(picture), std::move(subset), nullptr);
  return source.ok() ? "" : source.error().message;
}

TEST(ArraySource, SaysWhatIsWrongWithItsArrays) {
  EXPECT_EQ(refused({array_of("x", 3)}), "");
  EXPECT_NE(refused({}).find("no array"), std::string::npos);
  EXPECT_NE(refused({array_of("x", 3), array_of("y", 4)}).find("'y' has 4 rows where another has 3"),
            std::string::npos);
  EXPECT_NE(refused({array_of("x", 3), array_of("x", 3)}).find("unique"), std::string::npos);
  EXPECT_NE(refused({array_of("flags", 3)}).find("flags"), std::string::npos);
  EXPECT_NE(refused({array_of("", 3)}).find("called ''"), std::string::npos);
  Array empty = array_of("x", 3);
  empty.row_shape = {4, 0};
  EXPECT_NE(refused({empty}).find("hold nothing"), std::string::npos);
  const auto beyond = std::make_shared<const std::vector<std::uint64_t>>(std::vector<std::uint64_t>{2, 3});
  EXPECT_NE(refused({array_of("x", 3)}, std::nullopt, beyond).find("row 3 of 3"), std::string::npos);
  EXPECT_NE(
      refused({}, PictureArray{.name = "p", .layout = {.channels = 5, .extent = {2, 2}}, .rows = 3}).find("channels"),
      std::string::npos);
  EXPECT_NE(refused({}, PictureArray{.name = "p", .layout = {.extent = {0, 2}}, .rows = 3}).find("empty"),
            std::string::npos);
}

/// Compares the pictures of a source, both forms of them, with the bytes that the strides name.
void expect_pictures(const PictureArray& all) {
  const auto source = *ArraySource::make({}, all, nullptr, nullptr);
  ImageBuffer copy(MemoryLedger::unlimited());
  const auto channels = all.layout.channels;
  const auto extent = all.layout.extent;
  for (std::uint64_t row = 0; row < all.rows; ++row) {
    const auto byte = [&](std::int32_t c, std::int32_t y, std::int32_t x) {
      return all.data[static_cast<std::ptrdiff_t>(row) * all.stride + c * all.layout.channel_stride +
                      y * all.layout.row_stride + x * all.layout.pixel_stride];
    };
    const Location at = source->locate(row, kFirstPart);
    ASSERT_TRUE(at.contents.decoded);
    const ImageView picture = *kernel::planes_of(at.contents.layout, at.bytes, copy);
    ASSERT_EQ(picture.height, extent.height);
    ASSERT_EQ(picture.width, extent.width);
    for (std::int32_t c = 0; c < channels; ++c) {
      for (std::int32_t y = 0; y < extent.height; ++y) {
        for (std::int32_t x = 0; x < extent.width; ++x) ASSERT_EQ(picture.row(c, y)[x], byte(c, y, x));
      }
    }
    const ImageView flat = *kernel::lines_of(at.contents.layout, at.bytes, copy);
    ASSERT_EQ(flat.height, 1);
    for (std::int32_t c = 0; c < channels; ++c) {
      for (std::int32_t i = 0; i < flat.width; ++i) {
        ASSERT_EQ(flat.row(c, 0)[i], byte(c, i / extent.width, i % extent.width));
      }
    }
  }
}

TEST(ArraySource, GivesPicturesInAnyStrides) {
  const auto bytes = ramp(64 * 1024);
  const auto of = [&](std::int32_t channels, std::ptrdiff_t stride, std::ptrdiff_t channel, std::ptrdiff_t row,
                      std::ptrdiff_t pixel) {
    return PictureArray{.name = "p",
                        .layout = {channels, {7, 9}, channel, row, pixel},
                        .data = bytes.data(),
                        .stride = stride,
                        .rows = 20};
  };
  expect_pictures(of(1, 63, 63, 9, 1));      // gray
  expect_pictures(of(3, 189, 63, 9, 1));     // planes
  expect_pictures(of(3, 189, 1, 27, 3));     // pixels
  expect_pictures(of(3, 200, 1, 28, 3));     // pixels, with gaps
  expect_pictures(of(3, 189, 63, 1, 7));     // columns first
  expect_pictures(of(3, 1500, 500, 50, 1));  // a part of larger pictures
  expect_pictures(of(3, 1500, 500, 50, 2));  // every other pixel
  expect_pictures(of(1, 0, 0, 9, 1));        // the same picture again and again
  PictureArray backwards = of(1, -63, 0, -9, -1);
  backwards.data += 20 * 63;
  expect_pictures(backwards);
}

TEST(ArraySource, ReadsNothingBehindTheLastPicture) {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  void* memory = mmap(nullptr, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  ASSERT_EQ(mprotect(static_cast<char*>(memory) + page, page, PROT_NONE), 0);
  const std::uint64_t rows = 5;
  const auto* first = static_cast<const std::uint8_t*>(memory) + page - rows * 12;
  const auto source = *ArraySource::make(
      {}, PictureArray{.name = "p", .layout = {1, {3, 4}, 12, 4, 1}, .data = first, .stride = 12, .rows = rows},
      nullptr, nullptr);
  ImageBuffer copy(MemoryLedger::unlimited());
  for (std::uint64_t row = 0; row < rows; ++row) {
    const Location at = source->locate(row, kFirstPart);
    for (const auto view : {&kernel::planes_of, &kernel::lines_of}) {
      const ImageView seen = *view(at.contents.layout, at.bytes, copy);
      // What kernels may do: kPadding bytes from the end of each row on.
      const volatile std::uint8_t* end = seen.row(0, seen.height - 1) + seen.width;
      for (std::size_t i = 0; i < kPadding; ++i) static_cast<void>(end[i]);
    }
  }
  munmap(memory, 2 * page);
}

TEST(ArraySource, ASubsetNamesRowsOfTheArrays) {
  const auto rows = std::make_shared<const std::vector<std::uint64_t>>(std::vector<std::uint64_t>{2, 0, 2});
  const auto source = *ArraySource::make({array_of("x", 3)}, std::nullopt, rows, nullptr);
  EXPECT_EQ(source->size(), 3u);
  std::vector<std::uint64_t> indices{2, 1};
  source->to_rows(indices);
  EXPECT_EQ(indices, (std::vector<std::uint64_t>{2, 0}));
  EXPECT_EQ(source->name(1, kFirstPart), "x[0]");
  EXPECT_EQ(source->hint(1).bytes, 16u) << "known of each row";
  source->remember_bytes(1, 9);
  EXPECT_EQ(source->hint(1).bytes, 16u);
}

}  // namespace
}  // namespace drapps
