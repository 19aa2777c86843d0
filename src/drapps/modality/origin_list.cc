#include "drapps/modality/origin_list.h"

#include <cstring>

namespace drapps {
namespace {

constexpr std::int64_t kOriginNumbers = 4;  // of a document

}  // namespace

OriginList::OriginList(std::int64_t most, bool matrix, BatchLayout& layout)
    : column_(layout.add_varying("documents", Dtype::kInt64, {1 + most * kOriginNumbers}, 2)), matrix_(matrix) {}

void OriginList::write(const text::PackedRow& packed, const BatchLayout& layout, std::byte* slot,
                       std::uint32_t row) const {
  auto* next = reinterpret_cast<std::int64_t*>(layout.row(slot, column_, row));
  *next++ = static_cast<std::int64_t>(packed.origins.size());
  for (const text::DocumentPlace& place : packed.origins) {
    *next++ = &place - packed.origins.data();
    *next++ = place.file;
    *next++ = static_cast<std::int64_t>(place.block);
    *next++ = static_cast<std::int64_t>(place.at);
  }
}

/// What is listed of a row moves up, over what was moved before, and gets its number.
void OriginList::finish(const BatchLayout& layout, std::byte* slot, std::uint32_t rows) const {
  auto* const all = reinterpret_cast<std::int64_t*>(layout.row(slot, column_, 0));
  std::int64_t count = 0;
  for (std::uint32_t row = 0; row < rows; ++row) {
    const auto* const listed = reinterpret_cast<const std::int64_t*>(layout.row(slot, column_, row));
    const std::int64_t more = listed[0];
    std::memmove(all + count * kOriginNumbers, listed + 1,
                 static_cast<std::size_t>(more * kOriginNumbers) * sizeof(*all));
    // Bad rows may have left the batch since.
    for (std::int64_t i = count; !matrix_ && i < count + more; ++i) all[i * kOriginNumbers] = row;
    count += more;
  }
  layout.set_shape(slot, column_, {count, kOriginNumbers});
}

}  // namespace drapps
