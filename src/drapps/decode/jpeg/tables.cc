#include "drapps/decode/jpeg/tables.h"

#include <algorithm>
#include <new>

namespace drapps::jpeg {

using kernel::jpeg::HuffmanTable;

Result<const HuffmanTable*> TableCache::get(kernel::jpeg::CodeClass kind, std::span<const std::uint8_t> code) {
  DRAPPS_RETURN_IF_ERROR(memory_.ensure(kPlaces * sizeof(HuffmanTable)));
  auto* const tables = reinterpret_cast<HuffmanTable*>(memory_.data());
  const auto same = [&](const TablePlace& place) {
    return place.kind == kind && place.size == code.size() && std::equal(code.begin(), code.end(), place.code.begin());
  };
  auto slot = std::find_if(places_.begin(), places_.end(), same);
  if (slot == places_.end()) {
    slot = std::min_element(places_.begin(), places_.end(),
                            [](const TablePlace& a, const TablePlace& b) { return a.last_asked < b.last_asked; });
    slot->kind = kind;
    slot->size = code.size();
    std::copy(code.begin(), code.end(), slot->code.begin());
    slot->good = kernel::jpeg::make_table(*new (tables + (slot - places_.begin())) HuffmanTable, kind, code);
  }
  slot->last_asked = ++asked_;
  return slot->good ? tables + (slot - places_.begin()) : nullptr;
}

void TableCache::reset() noexcept {
  memory_.reset();
  for (TablePlace& place : places_) place.size = 0;
}

}  // namespace drapps::jpeg
