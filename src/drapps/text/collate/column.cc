#include "drapps/text/collate/column.h"

#include <algorithm>
#include <string>
#include <utility>

namespace drapps::text {
namespace {

Error invalid(std::string message) { return {.code = ErrorCode::kInvalidArgument, .message = std::move(message)}; }

std::int64_t offset_of(const ColumnChunk& chunk, std::size_t row) {
  return chunk.wide ? static_cast<const std::int64_t*>(chunk.offsets)[row]
                    : static_cast<const std::int32_t*>(chunk.offsets)[row];
}

template <class From, class To>
void append(const void* values, std::size_t begin, std::size_t end, std::vector<To>& out) {
  const From* const from = static_cast<const From*>(values);
  const std::size_t before = out.size();
  out.resize(before + (end - begin));
  std::transform(from + begin, from + end, out.begin() + static_cast<std::ptrdiff_t>(before),
                 [](From value) { return static_cast<To>(value); });
}

template <class To>
void append(const ColumnChunk& chunk, std::size_t begin, std::size_t end, std::vector<To>& out) {
  switch (chunk.stored) {
    case Stored::kI8: return append<std::int8_t>(chunk.values, begin, end, out);
    case Stored::kBytes:
    case Stored::kU8: return append<std::uint8_t>(chunk.values, begin, end, out);
    case Stored::kI16: return append<std::int16_t>(chunk.values, begin, end, out);
    case Stored::kU16: return append<std::uint16_t>(chunk.values, begin, end, out);
    case Stored::kI32: return append<std::int32_t>(chunk.values, begin, end, out);
    case Stored::kU32: return append<std::uint32_t>(chunk.values, begin, end, out);
    case Stored::kI64: return append<std::int64_t>(chunk.values, begin, end, out);
    case Stored::kF32: return append<float>(chunk.values, begin, end, out);
    case Stored::kF64: return append<double>(chunk.values, begin, end, out);
  }
}

}  // namespace

Result<ChunkedColumn> ChunkedColumn::make(std::vector<ColumnChunk> chunks) {
  ChunkedColumn column;
  std::erase_if(chunks, [](const ColumnChunk& chunk) { return chunk.rows == 0; });
  std::size_t first = 0;
  for (const ColumnChunk& chunk : chunks) {
    const bool fits = chunk.offsets != nullptr ? offset_of(chunk, chunk.rows) <= static_cast<std::int64_t>(chunk.size)
                                               : chunk.width == 0 || chunk.rows <= chunk.size / chunk.width;
    if (!fits) return invalid("a chunk of a column has fewer values than its rows need");
    column.firsts_.push_back(first);
    first += chunk.rows;
  }
  column.firsts_.push_back(first);
  column.chunks_ = std::move(chunks);
  return column;
}

Result<ChunkedColumn::ChunkPlace> ChunkedColumn::find(std::int64_t row) const {
  if (row < 0 || static_cast<std::size_t>(row) >= rows()) {
    return invalid("there are " + std::to_string(rows()) + " rows, and no row " + std::to_string(row));
  }
  const auto at = static_cast<std::size_t>(row);
  const auto behind = std::upper_bound(firsts_.begin(), firsts_.end(), at);
  const auto number = static_cast<std::size_t>(behind - firsts_.begin()) - 1;
  const ColumnChunk& chunk = chunks_[number];
  const std::size_t within = at - firsts_[number];
  if (chunk.offsets == nullptr) return ChunkPlace{&chunk, within * chunk.width, (within + 1) * chunk.width};
  const std::int64_t begin = offset_of(chunk, within);
  const std::int64_t end = offset_of(chunk, within + 1);
  if (begin < 0 || begin > end || end > static_cast<std::int64_t>(chunk.size)) {
    return invalid("row " + std::to_string(row) + " has damaged offsets");
  }
  return ChunkPlace{&chunk, static_cast<std::size_t>(begin), static_cast<std::size_t>(end)};
}

template <class T>
Result<Ragged<T>> ChunkedColumn::take(std::span<const std::int64_t> rows) const {
  Ragged<T> taken;
  taken.begins.reserve(rows.size() + 1);
  taken.begins.push_back(0);
  std::vector<ChunkPlace> places;
  places.reserve(rows.size());
  std::size_t total = 0;
  for (const std::int64_t row : rows) {
    const auto place = find(row);
    if (!place.ok()) return place.error();
    places.push_back(*place);
    total += place->end - place->begin;
    taken.begins.push_back(static_cast<std::int64_t>(total));
  }
  taken.values.reserve(total);
  for (const ChunkPlace& place : places) append(*place.chunk, place.begin, place.end, taken.values);
  return taken;
}

Result<Ragged<std::int64_t>> ChunkedColumn::integers(std::span<const std::int64_t> rows) const {
  return take<std::int64_t>(rows);
}

Result<Ragged<double>> ChunkedColumn::doubles(std::span<const std::int64_t> rows) const { return take<double>(rows); }

Result<std::vector<std::string_view>> ChunkedColumn::texts(std::span<const std::int64_t> rows) const {
  std::vector<std::string_view> views;
  views.reserve(rows.size());
  for (const std::int64_t row : rows) {
    const auto place = find(row);
    if (!place.ok()) return place.error();
    if (place->chunk->stored != Stored::kBytes) return invalid("a column of numbers has no texts");
    views.emplace_back(static_cast<const char*>(place->chunk->values) + place->begin, place->end - place->begin);
  }
  return views;
}

}  // namespace drapps::text
