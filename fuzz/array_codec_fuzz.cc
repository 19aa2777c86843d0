// The decoder of kept arrays must hold for any bytes at all: no fault, no memory beyond a band, and whatever it gives
// has the shape that was asked for. Each input is tried as an entry, as it is and with checksums that fit, and taken as
// an array that is to come back whole from every form.
#include <cstdlib>
#include <cstring>
#include <vector>

#include "drapps/cache/form/array_codec.h"

namespace drapps::cache {
namespace {

constexpr std::uint64_t kMostRows = 64;
constexpr std::uint64_t kMostBytes = 1 << 16;

void require(bool holds) {
  if (!holds) std::abort();
}

/// Decodes up to some rows of what the header says there is.
void decode(std::span<const std::uint8_t> entry) {
  ArrayCodec codec(MemoryLedger::unlimited());
  const auto array = ArrayCodec::in_place(entry);
  if (!array.ok()) return require(!array.error().message.empty());
  ArrayShape shape = array->shape;
  const std::uint64_t rows = shape.rows;
  shape.rows = std::min(rows, kMostRows);
  if (shape.bytes() > kMostBytes || shape.planes > kMostBytes) return;
  std::vector<std::uint8_t> out(static_cast<std::size_t>(shape.bytes()));
  for (const std::uint64_t first : {std::uint64_t{0}, rows - shape.rows}) {
    for (const Verify verify : {Verify::kYes, Verify::kNo}) {
      static_cast<void>(codec.decode(entry, first,
                                     {.shape = shape,
                                      .data = out.data(),
                                      .plane_stride = static_cast<std::ptrdiff_t>(shape.plane_bytes()),
                                      .row_stride = static_cast<std::ptrdiff_t>(shape.row_bytes)},
                                     verify));
    }
  }
}

/// Puts the header of an array that the bytes behind it may be before them.
void decode_behind_a_header(std::span<const std::uint8_t> data) {
  if (data.size() < 3) return;
  const FormId form = static_cast<FormId>(static_cast<int>(FormId::kRaw) + data[0] % 5);
  const ArrayShape shape{.dtype = data[1] % 2 == 0 ? Dtype::kUint8 : Dtype::kInt16,
                         .planes = 1,
                         .rows = std::uint64_t{data[2]} % 40 + 1,
                         .row_bytes = 30};
  const ArrayLayout layout(form, static_cast<ByteFilter>(data[1] / 2 % kFilters), shape);
  std::vector<std::uint8_t> entry(layout.content_at());
  write_band(entry, 0, {data.size() - 3, checksum(data.subspan(3))});
  layout.write(entry);
  entry.insert(entry.end(), data.begin() + 3, data.end());
  decode(entry);
}

void come_back(std::span<const std::uint8_t> data) {
  if (data.size() < 2) return;
  const auto dtype = static_cast<Dtype>(data[0] % kDtypes);
  const std::uint64_t row_bytes = (std::uint64_t{data[1]} + 1) * size_of(dtype);
  const ArrayShape shape{.dtype = dtype, .planes = 1, .rows = (data.size() - 2) / row_bytes, .row_bytes = row_bytes};
  const ArrayView array{.shape = shape,
                        .data = data.data() + 2,
                        .plane_stride = static_cast<std::ptrdiff_t>(shape.plane_bytes()),
                        .row_stride = static_cast<std::ptrdiff_t>(row_bytes)};
  ArrayCodec codec(MemoryLedger::unlimited());
  for (const FormId form : {FormId::kRaw, FormId::kRawLz4, FormId::kRawZstd, FormId::kRawSnappy}) {
    std::vector<std::uint8_t> entry(ArrayCodec::bound(form, shape));
    const auto bytes = codec.encode(form, array, entry);
    require(bytes.ok() && *bytes <= entry.size());
    entry.resize(*bytes);
    std::vector<std::uint8_t> out(static_cast<std::size_t>(shape.bytes()));
    require(codec
                .decode(entry, 0,
                        {.shape = shape,
                         .data = out.data(),
                         .plane_stride = array.plane_stride,
                         .row_stride = array.row_stride},
                        Verify::kYes)
                .ok());
    require(out.empty() || std::memcmp(out.data(), array.data, out.size()) == 0);
  }
}

}  // namespace
}  // namespace drapps::cache

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  drapps::cache::decode({data, size});
  drapps::cache::decode_behind_a_header({data, size});
  drapps::cache::come_back({data, size});
  return 0;
}
