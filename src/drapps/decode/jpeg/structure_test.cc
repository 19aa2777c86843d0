#include "drapps/decode/jpeg/structure.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <iterator>
#include <string>

#include "drapps/decode/testing.h"

namespace drapps::jpeg {
namespace {

using drapps::testing::Bytes;
using drapps::testing::encode_jpeg;

std::size_t place_of(const Bytes& file, std::uint8_t marker) {
  for (std::size_t i = 0; i + 1 < file.size(); ++i) {
    if (file[i] == 0xFF && file[i + 1] == marker) return i;
  }
  return file.size();
}

Bytes without(const Bytes& file, std::size_t at, std::size_t count) {
  Bytes rest(file.begin(), file.begin() + static_cast<std::ptrdiff_t>(at));
  for (std::size_t i = at + count; i < file.size(); ++i) rest.push_back(file[i]);
  return rest;
}

bool irregular(const Bytes& file) { return inspect(file, {}).value().irregular; }

TEST(JpegStructure, SequentialFilesAreRegular) {
  EXPECT_FALSE(irregular(encode_jpeg({33, 47}, {})));
  EXPECT_FALSE(irregular(encode_jpeg({33, 47}, {.channels = 1})));
  EXPECT_FALSE(irregular(encode_jpeg({33, 47}, {.channels = 4})));
  EXPECT_FALSE(irregular(encode_jpeg({33, 47}, {.horizontal = 2, .vertical = 2, .restart_interval = 1})));
  EXPECT_TRUE(irregular(encode_jpeg({33, 47}, {.progressive = true})));
}

TEST(JpegStructure, BytesBehindTheEndDoNotMatter) {
  Bytes file = encode_jpeg({33, 47}, {});
  file.insert(file.end(), 100, 0xFF);
  EXPECT_FALSE(irregular(file));
}

TEST(JpegStructure, MissingOrMisplacedRestartMarkersAreIrregular) {
  const Bytes file = encode_jpeg({64, 64}, {.restart_interval = 9});
  ASSERT_FALSE(irregular(file));
  Bytes swapped = file;
  swapped[place_of(file, 0xD1) + 1] = 0xD2;
  EXPECT_TRUE(irregular(swapped));
  EXPECT_TRUE(irregular(without(file, place_of(file, 0xD6), 2)));
}

TEST(JpegStructure, AMissingEndAMarkerInTheScanAndJunkAreIrregular) {
  const Bytes file = encode_jpeg({64, 64}, {});
  Bytes endless(file.begin(), file.end() - 2);
  EXPECT_TRUE(irregular(endless));
  Bytes interrupted = file;
  interrupted[file.size() - 40] = 0xFF;
  interrupted[file.size() - 39] = 0xC4;
  EXPECT_TRUE(irregular(interrupted));
  Bytes junk = file;
  junk.insert(junk.begin() + 2, 3, 0x55);
  EXPECT_TRUE(irregular(junk));
}

TEST(JpegStructure, HeadersThatPromiseTheWrongThingFail) {
  const Bytes file = encode_jpeg({64, 64}, {});
  const std::size_t frame = place_of(file, 0xC0);
  const auto changed = [&](std::size_t at, std::uint8_t value) {
    Bytes copy = file;
    copy[frame + at] = value;
    return inspect(copy, {}).error().code;
  };
  EXPECT_EQ(changed(4, 12), ErrorCode::kUnsupported);  // bits per sample
  EXPECT_EQ(changed(9, 2), ErrorCode::kUnsupported);   // components
  EXPECT_EQ(changed(6, 0), ErrorCode::kCorrupt);       // height
  EXPECT_EQ(inspect(without(file, frame, 19), {}).error().code, ErrorCode::kCorrupt);
}

TEST(JpegStructure, EveryCutBeforeTheScanIsTruncation) {
  const Bytes file = encode_jpeg({64, 64}, {});
  const std::size_t scan = place_of(file, 0xDA);
  for (std::size_t size = 3; size < scan + 14; ++size) {
    const Result<ImageInfo> info = inspect({file.data(), size}, {});
    ASSERT_FALSE(info.ok()) << size;
    EXPECT_EQ(info.error().code, ErrorCode::kTruncated);
    EXPECT_EQ(info.error().offset, static_cast<std::int64_t>(size));
  }
}

TEST(FindMarker, FindsTheFirstWhereverItStands) {
  for (std::size_t size : {2u, 3u, 511u, 512u, 513u, 514u, 1030u, 5000u}) {
    Bytes bytes(size, 0xFF);
    for (std::size_t i = 1; i < size; i += 2) bytes[i] = 0;  // stuffed all the way
    EXPECT_EQ(find_marker(bytes, 0), size);
    for (std::size_t place = 0; place + 1 < size; place += 2) {
      bytes[place + 1] = 0xD0;
      for (const std::size_t from : {std::size_t{0}, place / 2, place}) EXPECT_EQ(find_marker(bytes, from), place);
      EXPECT_EQ(find_marker(bytes, place + 1), size);
      bytes[place + 1] = 0;
    }
  }
  EXPECT_EQ(find_marker({}, 0), 0u);
}

}  // namespace
}  // namespace drapps::jpeg
