#include "drapps/source/packed.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

namespace drapps {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
constexpr std::int64_t kVariable = PackedColumns::kVariable;

template <class T>
std::string number(T value) {
  std::string bytes(sizeof value, '\0');
  std::memcpy(bytes.data(), &value, sizeof value);
  return bytes;
}

/// A shard of these samples, with something between the offsets and the first.
std::string shard(const std::vector<std::string>& samples, const std::string& between = "") {
  std::string offsets = number(static_cast<std::uint32_t>(samples.size()));
  std::string data;
  const std::size_t first = 4 * (samples.size() + 2) + between.size();
  for (const std::string& sample : samples) {
    offsets += number(static_cast<std::uint32_t>(first + data.size()));
    data += sample;
  }
  return offsets + number(static_cast<std::uint32_t>(first + data.size())) + between + data;
}

std::string head(std::uint32_t size) { return number(size); }

Result<PackedListing> listed(const std::string& bytes, const PackedColumns& columns) {
  FileWindow window({reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()});
  return list_packed(window, columns);
}

// As MDS has them: sizes in the head for what has no fixed size.
const PackedColumns kMixed{.sizes = {8, kVariable, kVariable, 1},
                           .image = 1,
                           .labels = {{0, PackedInteger::kSigned}, {3, PackedInteger::kUnsigned}}};

std::string mixed_sample(std::int64_t label, const std::string& image, std::uint8_t other) {
  return head(static_cast<std::uint32_t>(image.size())) + head(3) + number(label) + image + "txt" + number(other);
}

TEST(ListPacked, FindsImagesAndLabelsAmongFixedAndVariableColumns) {
  const std::string bytes =
      shard({mixed_sample(-5, "first image", 255), mixed_sample(1 << 20, "", 0), mixed_sample(7, "third", 1)},
            "{\"a\": \"description\"}");
  const auto listing = listed(bytes, kMixed);
  ASSERT_TRUE(listing.ok()) << listing.error().to_string();
  ASSERT_EQ(listing->offset.size(), 3u);
  EXPECT_EQ(bytes.substr(listing->offset[0], listing->length[0]), "first image");
  EXPECT_EQ(listing->length[1], 0u);
  EXPECT_EQ(bytes.substr(listing->offset[2], listing->length[2]), "third");
  EXPECT_THAT(listing->labels[0], ElementsAre(-5, 1 << 20, 7));
  EXPECT_THAT(listing->labels[1], ElementsAre(255, 0, 1));
}

TEST(ListPacked, ReadsIntegersOfAllSizesAndAsDigits) {
  const auto label = [](const std::string& value, PackedInteger integer) {
    const PackedColumns columns{.sizes = {kVariable, kVariable}, .image = 0, .labels = {{1, integer}}};
    const auto listing =
        listed(shard({head(1) + head(static_cast<std::uint32_t>(value.size())) + "i" + value}), columns);
    return listing.ok() ? std::to_string(listing->labels[0][0]) : listing.error().message;
  };
  EXPECT_EQ(label(number(std::int8_t{-1}), PackedInteger::kSigned), "-1");
  EXPECT_EQ(label(number(std::int16_t{-300}), PackedInteger::kSigned), "-300");
  EXPECT_EQ(label(number(std::int32_t{1 << 30}), PackedInteger::kSigned), "1073741824");
  EXPECT_EQ(label(number(INT64_MIN), PackedInteger::kSigned), std::to_string(INT64_MIN));
  EXPECT_EQ(label(number(std::uint8_t{200}), PackedInteger::kUnsigned), "200");
  EXPECT_EQ(label("-42", PackedInteger::kDecimal), "-42");
  EXPECT_THAT(label("", PackedInteger::kDecimal), HasSubstr("no whole number"));
  EXPECT_THAT(label("4.2", PackedInteger::kDecimal), HasSubstr("no whole number"));
  EXPECT_THAT(label("abc", PackedInteger::kSigned), HasSubstr("3 bytes"));
  EXPECT_THAT(label(number(~std::uint64_t{0}), PackedInteger::kUnsigned), HasSubstr("int64"));
}

TEST(ListPacked, ListsMoreSamplesThanFitOneReading) {
  std::vector<std::string> samples;
  for (std::int64_t i = 0; i < 5000; ++i) samples.push_back(mixed_sample(i, std::string(1 + i % 50, 'x'), 3));
  const auto listing = listed(shard(samples), kMixed);
  ASSERT_TRUE(listing.ok());
  ASSERT_EQ(listing->labels[0].size(), 5000u);
  for (std::size_t i = 0; i < 5000; ++i) {
    ASSERT_EQ(listing->labels[0][i], static_cast<std::int64_t>(i));
    ASSERT_EQ(listing->length[i], 1 + i % 50);
  }
}

TEST(ListPacked, DamageIsATypedErrorWithItsPlace) {
  const std::string good = shard({mixed_sample(1, "image", 2), mixed_sample(3, "other", 4)});
  ASSERT_TRUE(listed(good, kMixed).ok());
  const auto changed = [&](std::size_t at, std::uint32_t value) {
    std::string bytes = good;
    bytes.replace(at, 4, number(value));
    return listed(bytes, kMixed);
  };
  const std::uint32_t first = 16;
  EXPECT_EQ(changed(0, 1000).error().offset, 0);
  EXPECT_THAT(changed(0, 0xFFFFFFFF).error().message, HasSubstr("no room"));
  EXPECT_THAT(changed(4, 0xFFFFFFFF).error().message, HasSubstr("offsets"));
  EXPECT_THAT(changed(8, 5).error().message, HasSubstr("offsets"));
  EXPECT_THAT(changed(8, first).error().message, HasSubstr("shorter than its sizes"));
  EXPECT_THAT(changed(first, 0xFFFFFFFF).error().message, HasSubstr("beyond its end"));
  EXPECT_THAT(changed(first, 4).error().message, HasSubstr("does index.json belong to it"));
  EXPECT_EQ(changed(first, 4).error().offset, first);
  EXPECT_EQ(changed(first, 4).error().code, ErrorCode::kCorrupt);
  EXPECT_EQ(listed(good.substr(0, good.size() - 1), kMixed).error().code, ErrorCode::kCorrupt);
  EXPECT_EQ(listed("abc", kMixed).error().code, ErrorCode::kTruncated);
  EXPECT_TRUE(listed(good + "a footer", kMixed).ok());
}

TEST(ListPacked, RefusesColumnsThatDoNotExist) {
  const std::string bytes = shard({"x"});
  EXPECT_EQ(listed(bytes, {.sizes = {1}, .image = 1, .labels = {}}).error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(listed(bytes, {.sizes = {1}, .image = 0, .labels = {{2}}}).error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(listed(bytes, {.sizes = {-2}, .image = 0, .labels = {}}).error().code, ErrorCode::kInvalidArgument);
}

}  // namespace
}  // namespace drapps
