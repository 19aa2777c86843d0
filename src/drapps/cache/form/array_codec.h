// Arrays of any dtype and shape, as they are or compressed, of which some rows can be had without the others.
//
//   std::vector<std::uint8_t> entry(ArrayCodec::bound(form, array.shape));
//   auto bytes = codec.encode(form, array, entry);         // the entry is the first *bytes of them
//   DRAPPS_RETURN_IF_ERROR(codec.decode(entry, 10, out));  // rows from 10 on, as many as out.shape has
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "drapps/base/memory_ledger.h"
#include "drapps/cache/form/array_layout.h"
#include "drapps/cache/form/compressor.h"
#include "drapps/data/buffer.h"

namespace drapps::cache {

/// Bytes of an array that lie somewhere: row y of plane p begins at data + p * plane_stride + y * row_stride.
template <class Byte>
struct BasicArrayView {
  ArrayShape shape;
  Byte* data = nullptr;
  std::ptrdiff_t plane_stride = 0;
  std::ptrdiff_t row_stride = 0;

  Byte* row(std::uint64_t plane, std::uint64_t y) const noexcept {
    return data + static_cast<std::ptrdiff_t>(plane) * plane_stride + static_cast<std::ptrdiff_t>(y) * row_stride;
  }
};
using ArrayView = BasicArrayView<const std::uint8_t>;
using MutableArrayView = BasicArrayView<std::uint8_t>;

/// Whether bands are held against their checksums: entries that have left this process are.
enum class Verify : std::uint8_t { kNo, kYes };

/// Encodes and decodes; lossless in every form. One thread; memory is charged to the ledger and kept.
class ArrayCodec {
 public:
  explicit ArrayCodec(MemoryLedger& ledger) : ledger_(ledger), rows_(ledger), filtered_(ledger) {}

  /// The most bytes that an encoded array takes; `raw` and `prepared` take just as many.
  static std::size_t bound(FormId form, const ArrayShape& shape) noexcept {
    return ArrayLayout(form, ByteFilter::kNone, shape).bound();
  }
  /// Encodes an array, and gives how many bytes it takes. kTooLarge beyond kMaxArrayBytes or kMaxRowBytes,
  /// kResourceExhausted without memory to work in.
  /// @param form  an array form.
  /// @param out   of bound() bytes.
  Result<std::size_t> encode(FormId form, const ArrayView& array, std::span<std::uint8_t> out);

  /// Rows [first, first + out.shape.rows) of every plane. kCorrupt where the entry is damaged: what `out` holds then
  /// means nothing. kResourceExhausted without memory to work in.
  Status decode(std::span<const std::uint8_t> entry, std::uint64_t first, const MutableArrayView& out,
                Verify verify = Verify::kNo);

  /// The array where it lies in an entry that is not compressed; else without data.
  static Result<ArrayView> in_place(std::span<const std::uint8_t> entry);

  void reset() noexcept;

 private:
  Compressor* compressor(FormId form);
  Result<ByteFilter> choose(FormId form, const ArrayView& array);
  Result<std::span<const std::uint8_t>> gather(const ArrayView& array, const ArrayLayout& layout, std::uint64_t plane,
                                               std::uint64_t band_down);
  std::size_t pack(const ArrayLayout& layout, std::span<const std::uint8_t> rows, std::span<std::uint8_t> out);

  MemoryLedger& ledger_;
  std::array<std::unique_ptr<Compressor>, kForms> compressors_;
  Buffer rows_;      // of a band
  Buffer filtered_;  // rows of a band, filtered
};

}  // namespace drapps::cache
