#include "drapps/cache/form/array_codec.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>
#include <string>
#include <vector>

namespace drapps::cache {
namespace {

constexpr FormId kArrayForms[] = {FormId::kRaw, FormId::kRawLz4, FormId::kRawZstd, FormId::kRawSnappy,
                                  FormId::kPrepared};

/// An array with gaps between its rows and planes, smooth or of noise.
struct Numbers {
  Numbers(const ArrayShape& shape, bool smooth, std::size_t gap = 5) {
    const auto row = static_cast<std::size_t>(shape.row_bytes);
    const std::size_t stride = row + gap;
    memory.resize(static_cast<std::size_t>(shape.planes * (shape.rows + 1)) * stride + 1);
    std::mt19937_64 random(7);
    for (std::uint8_t& byte : memory) byte = static_cast<std::uint8_t>(random());
    view = {.shape = shape,
            .data = memory.data(),
            .plane_stride = static_cast<std::ptrdiff_t>((shape.rows + 1) * stride),
            .row_stride = static_cast<std::ptrdiff_t>(stride)};
    if (!smooth) return;
    const std::size_t element = size_of(shape.dtype);
    for (std::uint64_t plane = 0; plane < shape.planes; ++plane) {
      for (std::uint64_t y = 0; y < shape.rows; ++y) {
        for (std::uint64_t x = 0; x < shape.row_bytes / element; ++x) {
          const std::uint64_t value = 9000 + 40 * x + 25 * y + 7 * plane + random() % 8;
          std::memcpy(memory.data() + (view.row(plane, y) - memory.data()) + x * element, &value, element);
        }
      }
    }
  }
  std::vector<std::uint8_t> memory;
  ArrayView view;
};

std::vector<std::uint8_t> plain(const ArrayView& array, std::uint64_t first, std::uint64_t count) {
  std::vector<std::uint8_t> bytes;
  for (std::uint64_t plane = 0; plane < array.shape.planes; ++plane) {
    for (std::uint64_t y = first; y < first + count; ++y) {
      bytes.insert(bytes.end(), array.row(plane, y), array.row(plane, y) + array.shape.row_bytes);
    }
  }
  return bytes;
}

std::vector<std::uint8_t> encoded(ArrayCodec& codec, FormId form, const ArrayView& array) {
  std::vector<std::uint8_t> entry(ArrayCodec::bound(form, array.shape));
  const auto bytes = codec.encode(form, array, entry);
  EXPECT_TRUE(bytes.ok());
  EXPECT_LE(*bytes, entry.size());
  entry.resize(*bytes);
  entry.shrink_to_fit();  // so that reading beyond its end is seen
  return entry;
}

Result<std::vector<std::uint8_t>> decoded(ArrayCodec& codec, std::span<const std::uint8_t> entry, ArrayShape shape,
                                          std::uint64_t first, std::uint64_t count, Verify verify = Verify::kYes) {
  shape.rows = count;
  std::vector<std::uint8_t> out(static_cast<std::size_t>(shape.bytes()) + 1);
  Status status = codec.decode(entry, first,
                               {.shape = shape,
                                .data = out.data(),
                                .plane_stride = static_cast<std::ptrdiff_t>(shape.plane_bytes()),
                                .row_stride = static_cast<std::ptrdiff_t>(shape.row_bytes)},
                               verify);
  if (!status.ok()) return std::move(status).error();
  out.pop_back();
  return out;
}

TEST(ArrayCodec, EveryFormGivesBackEveryDtypeAndShape) {
  MemoryLedger ledger;
  {
    ArrayCodec codec(ledger);
    for (std::size_t d = 0; d < kDtypes; ++d) {
      const auto dtype = static_cast<Dtype>(d);
      for (const auto& [planes, rows, across] :
           {std::tuple{1, 1, 1}, {1, 0, 3}, {0, 4, 4}, {3, 7, 0}, {3, 37, 61}, {1, 300, 700}, {4, 2, 9000}}) {
        const ArrayShape shape{.dtype = dtype,
                               .planes = static_cast<std::uint64_t>(planes),
                               .rows = static_cast<std::uint64_t>(rows),
                               .row_bytes = static_cast<std::uint64_t>(across) * size_of(dtype)};
        for (const bool smooth : {false, true}) {
          const Numbers numbers(shape, smooth);
          const auto expected = plain(numbers.view, 0, shape.rows);
          for (const FormId form : kArrayForms) {
            const auto entry = encoded(codec, form, numbers.view);
            const auto whole = decoded(codec, entry, shape, 0, shape.rows);
            ASSERT_TRUE(whole.ok()) << whole.error().message;
            EXPECT_EQ(*whole, expected) << name_of(form) << " " << name_of(dtype);
          }
        }
      }
    }
  }
  EXPECT_EQ(ledger.used(), 0u);
}

TEST(ArrayCodec, AnyRowsCanBeHadAlone) {
  ArrayCodec codec(MemoryLedger::unlimited());
  const ArrayShape shape{.dtype = Dtype::kUint8, .planes = 3, .rows = 23, .row_bytes = 5000};
  const Numbers numbers(shape, true);
  for (const FormId form : kArrayForms) {
    const auto entry = encoded(codec, form, numbers.view);
    for (std::uint64_t first = 0; first <= shape.rows; ++first) {
      for (std::uint64_t count = 0; first + count <= shape.rows; ++count) {
        const auto rows = decoded(codec, entry, shape, first, count, Verify::kNo);
        ASSERT_TRUE(rows.ok());
        ASSERT_EQ(*rows, plain(numbers.view, first, count));
      }
    }
    EXPECT_FALSE(decoded(codec, entry, shape, 20, 4).ok());
  }
}

TEST(ArrayCodec, WhatIsSmoothGetsSmallerAndNoiseHardlyLarger) {
  ArrayCodec codec(MemoryLedger::unlimited());
  for (const Dtype dtype : {Dtype::kUint16, Dtype::kInt32}) {
    const ArrayShape shape{.dtype = dtype, .planes = 1, .rows = 375, .row_bytes = 500 * size_of(dtype)};
    const Numbers smooth(shape, true);
    const Numbers noise(shape, false);
    for (const FormId form : {FormId::kRawLz4, FormId::kRawZstd, FormId::kRawSnappy}) {
      const auto entry = encoded(codec, form, smooth.view);
      EXPECT_LT(entry.size(), shape.bytes() * 3 / 4) << name_of(form) << " " << name_of(dtype);
      EXPECT_NE(ArrayLayout::parse(entry)->filter, ByteFilter::kNone) << name_of(form) << " " << name_of(dtype);
      EXPECT_LE(encoded(codec, form, noise.view).size(), ArrayCodec::bound(form, shape));
    }
  }
}

TEST(ArrayCodec, WhatIsNotCompressedIsReadWhereItLies) {
  ArrayCodec codec(MemoryLedger::unlimited());
  const ArrayShape shape{.dtype = Dtype::kUint8, .planes = 3, .rows = 40, .row_bytes = 900};
  const Numbers numbers(shape, true);
  for (const FormId form : kArrayForms) {
    const auto entry = encoded(codec, form, numbers.view);
    const auto view = ArrayCodec::in_place(entry);
    ASSERT_TRUE(view.ok());
    EXPECT_EQ(view->shape, shape);
    if (form != FormId::kRaw && form != FormId::kPrepared) {
      EXPECT_EQ(view->data, nullptr);
      continue;
    }
    EXPECT_EQ(plain(*view, 0, shape.rows), plain(numbers.view, 0, shape.rows));
  }
}

TEST(ArrayCodec, ADamagedEntryIsAnErrorAndNeverOtherNumbers) {
  ArrayCodec codec(MemoryLedger::unlimited());
  const ArrayShape shape{.dtype = Dtype::kUint16, .planes = 2, .rows = 6, .row_bytes = 40};
  const Numbers numbers(shape, true);
  const auto expected = plain(numbers.view, 0, shape.rows);
  for (const FormId form : kArrayForms) {
    const auto entry = encoded(codec, form, numbers.view);
    for (std::size_t bytes = 0; bytes < entry.size(); ++bytes) {
      const std::vector<std::uint8_t> cut(entry.begin(), entry.begin() + static_cast<std::ptrdiff_t>(bytes));
      EXPECT_FALSE(decoded(codec, cut, shape, 0, shape.rows).ok()) << name_of(form) << " " << bytes;
    }
    for (std::size_t at = 0; at < entry.size(); ++at) {
      for (const int bit : {0, 3, 7}) {
        auto changed = entry;
        changed[at] = static_cast<std::uint8_t>(changed[at] ^ 1 << bit);
        EXPECT_FALSE(decoded(codec, changed, shape, 0, shape.rows).ok()) << name_of(form) << " " << at;
        static_cast<void>(decoded(codec, changed, shape, 0, shape.rows, Verify::kNo));
      }
    }
  }
}

TEST(ArrayCodec, WithoutMemoryItSaysSo) {
  MemoryLedger none(100);
  ArrayCodec codec(none);
  const ArrayShape shape{.dtype = Dtype::kUint8, .planes = 3, .rows = 40, .row_bytes = 900};
  const Numbers numbers(shape, true);
  std::vector<std::uint8_t> entry(ArrayCodec::bound(FormId::kRawSnappy, shape));
  const auto refused = codec.encode(FormId::kRawSnappy, numbers.view, entry);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::kResourceExhausted);
}

}  // namespace
}  // namespace drapps::cache
