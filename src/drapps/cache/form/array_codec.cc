#include "drapps/cache/form/array_codec.h"

#include <cstring>
#include <string>

namespace drapps::cache {
namespace {

/// What a filter must save of a band, at the least, to be worth undoing: an eighth.
constexpr std::size_t kWorth = 8;

constexpr bool whole_numbers(Dtype dtype) noexcept {
  switch (dtype) {
    case Dtype::kFloat16:
    case Dtype::kBfloat16:
    case Dtype::kFloat32:
    case Dtype::kFloat64: return false;
    default: return true;
  }
}

FilteredRows rows_of(const ArrayShape& shape) noexcept {
  return {.row_bytes = static_cast<std::size_t>(shape.row_bytes), .element = size_of(shape.dtype)};
}

Error damaged_band(std::uint64_t band) {
  return {.code = ErrorCode::kCorrupt,
          .stage = Stage::kDecode,
          .message = "a cached array is damaged: band " + std::to_string(band) + " is not what was kept"};
}

}  // namespace

Compressor* ArrayCodec::compressor(FormId form) {
  auto& place = compressors_[static_cast<std::size_t>(form)];
  if (place != nullptr) return place.get();
  switch (form) {
    case FormId::kRawLz4: place = make_lz4(); break;
    case FormId::kRawZstd: place = make_zstd(ledger_); break;
    case FormId::kRawSnappy: place = make_snappy(ledger_); break;
    default: break;
  }
  return place.get();
}

/// The rows of a band, one after the other.
Result<std::span<const std::uint8_t>> ArrayCodec::gather(const ArrayView& array, const ArrayLayout& layout,
                                                         std::uint64_t plane, std::uint64_t band_down) {
  const auto row_bytes = static_cast<std::size_t>(array.shape.row_bytes);
  const auto count = static_cast<std::size_t>(layout.rows_of(band_down));
  const std::uint8_t* const first = array.row(plane, band_down * layout.band_rows);
  if (array.row_stride == static_cast<std::ptrdiff_t>(row_bytes)) return std::span(first, count * row_bytes);
  DRAPPS_RETURN_IF_ERROR(rows_.ensure(count * row_bytes));
  for (std::size_t y = 0; y < count; ++y) {
    std::memcpy(rows_.data() + y * row_bytes, first + static_cast<std::ptrdiff_t>(y) * array.row_stride, row_bytes);
  }
  return std::span<const std::uint8_t>(rows_.data(), count * row_bytes);
}

/// Compresses a band behind its filter, for which there is memory. As many bytes as its rows where it is only copied.
std::size_t ArrayCodec::pack(const ArrayLayout& layout, std::span<const std::uint8_t> rows,
                             std::span<std::uint8_t> out) {
  Compressor* const compressor = this->compressor(layout.form);
  if (compressor != nullptr && !rows.empty()) {
    std::span<const std::uint8_t> in = rows;
    if (layout.filter != ByteFilter::kNone) {
      apply(layout.filter, rows_of(layout.shape), rows, {filtered_.data(), rows.size()});
      in = {filtered_.data(), rows.size()};
    }
    if (const std::size_t done = compressor->compress(in, out.first(rows.size()))) return done;
  }
  if (!rows.empty()) std::memcpy(out.data(), rows.data(), rows.size());
  return rows.size();
}

/// Chooses the filter by what each makes of a band in the middle.
Result<ByteFilter> ArrayCodec::choose(FormId form, const ArrayView& array) {
  const Compressor* const compressor = this->compressor(form);
  if (compressor == nullptr || array.shape.bytes() == 0) return ByteFilter::kNone;
  ArrayLayout layout(form, ByteFilter::kNone, array.shape);
  const std::size_t element = size_of(array.shape.dtype);
  auto rows = gather(array, layout, array.shape.planes / 2, layout.bands_down() / 2);
  if (!rows.ok()) return std::move(rows).error();
  DRAPPS_RETURN_IF_ERROR(filtered_.ensure(static_cast<std::size_t>(layout.band_rows * array.shape.row_bytes)));
  Buffer tried(ledger_);
  DRAPPS_RETURN_IF_ERROR(tried.ensure(rows->size()));
  ByteFilter best = ByteFilter::kNone;
  std::size_t least = pack(layout, *rows, {tried.data(), rows->size()});
  for (const ByteFilter filter : {ByteFilter::kShuffle, ByteFilter::kDifferences}) {
    if (!applies(filter, element, whole_numbers(array.shape.dtype))) continue;
    if (element == 1 && !compressor->likes_differences()) continue;
    layout.filter = filter;
    const std::size_t done = pack(layout, *rows, {tried.data(), rows->size()});
    if (done + least / kWorth >= least) continue;
    least = done;
    best = filter;
  }
  return best;
}

Result<std::size_t> ArrayCodec::encode(FormId form, const ArrayView& array, std::span<std::uint8_t> out) {
  const ArrayShape& shape = array.shape;
  if (shape.row_bytes > kMaxRowBytes || shape.bytes() > kMaxArrayBytes) {
    return Error{.code = ErrorCode::kTooLarge, .stage = Stage::kDecode, .message = "the array is too large to keep"};
  }
  const auto filter = choose(form, array);
  if (!filter.ok()) return filter.error();
  const ArrayLayout layout(form, *filter, array.shape);
  const std::span<std::uint8_t> content = out.subspan(layout.content_at());
  std::size_t done = 0;
  std::uint64_t band = 0;
  for (std::uint64_t plane = 0; plane < array.shape.planes; ++plane) {
    for (std::uint64_t down = 0; down < layout.bands_down(); ++down, ++band) {
      const auto rows = gather(array, layout, plane, down);
      if (!rows.ok()) return rows.error();
      const std::size_t bytes = pack(layout, *rows, content.subspan(done));
      write_band(out, band, {done + bytes, checksum(content.subspan(done, bytes))});
      done += bytes;
    }
  }
  layout.write(out);
  return layout.content_at() + done;
}

Status ArrayCodec::decode(std::span<const std::uint8_t> entry, std::uint64_t first, const MutableArrayView& out,
                          Verify verify) {
  auto parsed = ArrayLayout::parse(entry);
  if (!parsed.ok()) return std::move(parsed).error();
  const ArrayLayout& layout = *parsed;
  const ArrayShape& shape = layout.shape;
  const std::uint64_t end = first + out.shape.rows;
  if (out.shape.dtype != shape.dtype || out.shape.planes != shape.planes || out.shape.row_bytes != shape.row_bytes ||
      end < first || end > shape.rows) {
    return Error{.code = ErrorCode::kInternal, .stage = Stage::kDecode, .message = "a cached array has another shape"};
  }
  if (out.shape.bytes() == 0) return ok_status();
  const std::span<const std::uint8_t> content = entry.subspan(layout.content_at());
  const auto row_bytes = static_cast<std::size_t>(shape.row_bytes);
  const auto band_bytes = static_cast<std::size_t>(layout.band_rows) * row_bytes;
  Compressor* const compressor = this->compressor(layout.form);
  if (compressor != nullptr) {
    DRAPPS_RETURN_IF_ERROR(rows_.ensure(band_bytes));
    DRAPPS_RETURN_IF_ERROR(filtered_.ensure(layout.filter == ByteFilter::kNone ? 0 : band_bytes));
  }
  for (std::uint64_t plane = 0; plane < shape.planes; ++plane) {
    for (std::uint64_t down = first / layout.band_rows; down * layout.band_rows < end; ++down) {
      const std::uint64_t band = plane * layout.bands_down() + down;
      const std::uint64_t begin = band == 0 ? 0 : read_band(entry, band - 1).end;
      const Band header = read_band(entry, band);
      const std::size_t bytes = static_cast<std::size_t>(layout.rows_of(down)) * row_bytes;
      if (begin > header.end || header.end > content.size() || header.end - begin > bytes) return damaged_band(band);
      std::span<const std::uint8_t> rows = content.subspan(begin, header.end - begin);
      if (verify == Verify::kYes && checksum(rows) != header.sum) return damaged_band(band);
      if (rows.size() < bytes) {
        if (compressor == nullptr) return damaged_band(band);
        const bool filtered = layout.filter != ByteFilter::kNone;
        const std::span<std::uint8_t> unpacked{filtered ? filtered_.data() : rows_.data(), bytes};
        if (!compressor->decompress(rows, unpacked)) return damaged_band(band);
        if (filtered) undo(layout.filter, rows_of(shape), unpacked, {rows_.data(), bytes});
        rows = {rows_.data(), bytes};
      }
      const std::uint64_t top = down * layout.band_rows;
      const std::uint64_t from = std::max(first, top);
      const std::uint64_t to = std::min(end, top + layout.rows_of(down));
      for (std::uint64_t y = from; y < to; ++y) {
        std::memcpy(out.row(plane, y - first), rows.data() + static_cast<std::size_t>(y - top) * row_bytes, row_bytes);
      }
    }
  }
  return ok_status();
}

Result<ArrayView> ArrayCodec::in_place(std::span<const std::uint8_t> entry) {
  auto layout = ArrayLayout::parse(entry);
  if (!layout.ok()) return std::move(layout).error();
  const ArrayShape& shape = layout->shape;
  ArrayView view{.shape = shape,
                 .data = nullptr,
                 .plane_stride = static_cast<std::ptrdiff_t>(shape.plane_bytes()),
                 .row_stride = static_cast<std::ptrdiff_t>(shape.row_bytes)};
  const bool plain = layout->form == FormId::kRaw || layout->form == FormId::kPrepared;
  if (plain && entry.size() - layout->content_at() == shape.bytes()) view.data = entry.data() + layout->content_at();
  return view;
}

void ArrayCodec::reset() noexcept {
  for (auto& compressor : compressors_) compressor.reset();
  rows_.reset();
  filtered_.reset();
}

}  // namespace drapps::cache
