#include "drapps/decode/jpeg/plain_header.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "drapps/decode/testing.h"

namespace drapps::jpeg {
namespace {

using drapps::testing::Bytes;
using drapps::testing::encode_jpeg;

/// A file with one more segment behind the marker that begins it.
Bytes with_segment(const Bytes& file, std::uint8_t marker, std::string_view body) {
  Bytes bytes{0xFF, 0xD8, 0xFF, marker};
  bytes.push_back(static_cast<std::uint8_t>((body.size() + 2) >> 8));
  bytes.push_back(static_cast<std::uint8_t>((body.size() + 2) & 255));
  bytes.insert(bytes.end(), body.begin(), body.end());
  bytes.insert(bytes.end(), file.begin() + 2, file.end());
  return bytes;
}

TEST(PlainHeader, NamesSizeLayersTablesAndWhereTheScanBegins) {
  const Bytes file = encode_jpeg({33, 47}, {.horizontal = 2, .vertical = 1});
  const auto header = read_plain_header(file);
  ASSERT_TRUE(header);
  EXPECT_EQ(header->extent, (Extent{33, 47}));
  ASSERT_EQ(header->layers.size(), 3u);
  EXPECT_EQ(header->layers[0].horizontal, 2);
  EXPECT_EQ(header->layers[0].vertical, 1);
  EXPECT_EQ(header->layers[1].horizontal, 1);
  EXPECT_GE(header->quantizers.size(), 1u);
  // The header of the scan ends with the spectral selection 0 to 63 and no approximation.
  ASSERT_GE(header->end, 3u);
  EXPECT_EQ(file[header->end - 3], 0);
  EXPECT_EQ(file[header->end - 2], 63);
  EXPECT_EQ(file[header->end - 1], 0);
}

TEST(PlainHeader, KeepsTextsInTheirOrder) {
  const Bytes file = with_segment(with_segment(encode_jpeg({9, 8}, {.channels = 1}), 0xFE, "second"), 0xEB, "first");
  const auto header = read_plain_header(file);
  ASSERT_TRUE(header);
  ASSERT_GE(header->texts.size(), 2u);
  EXPECT_EQ(header->texts[0].marker, 0xEB);
  EXPECT_EQ(std::string(header->texts[0].body.begin(), header->texts[0].body.end()), "first");
  EXPECT_EQ(header->texts[1].marker, 0xFE);
}

TEST(PlainHeader, LeavesOthersAlone) {
  EXPECT_FALSE(read_plain_header(encode_jpeg({33, 47}, {.progressive = true})));
  EXPECT_FALSE(read_plain_header(encode_jpeg({33, 47}, {.channels = 4})));
  const Bytes file = encode_jpeg({33, 47}, {});
  for (const auto& [marker, body] : std::vector<std::pair<int, std::string>>{{0xE1, "Exif"},
                                                                             {0xE1, "http://ns.adobe.com/xap/1.0/"},
                                                                             {0xE2, "ICC_PROFILE"},
                                                                             {0xE2, "MPF"},
                                                                             {0xED, "Photoshop 3.0"},
                                                                             {0xE0, "JFIF too short"},
                                                                             {0xEE, "Adobe short"}}) {
    const bool cut = body.find("short") != std::string::npos;
    const std::string text = cut ? body.substr(0, body.find(' ')) : body + std::string(20, '\0');
    EXPECT_FALSE(read_plain_header(with_segment(file, static_cast<std::uint8_t>(marker), text))) << body;
  }
  Bytes filled = file;
  filled.insert(filled.begin() + 2, 0xFF);
  EXPECT_FALSE(read_plain_header(filled));
}

TEST(PlainHeader, IsNothingWhereTheHeaderIsCut) {
  const Bytes file = encode_jpeg({33, 47}, {});
  const std::size_t end = read_plain_header(file)->end;
  for (std::size_t size = 0; size < end; ++size) {
    EXPECT_FALSE(read_plain_header({file.data(), size})) << size;
  }
  EXPECT_TRUE(read_plain_header({file.data(), end}));
}

}  // namespace
}  // namespace drapps::jpeg
