#include "drapps/decode/jpeg/tables.h"

#include <algorithm>
#include <new>

namespace drapps::jpeg {

using kernel::jpeg::HuffmanTable;

Result<const HuffmanTable*> TableCache::get(kernel::jpeg::CodeClass kind, std::span<const std::uint8_t> code) {
  DRAPPS_RETURN_IF_ERROR(memory_.ensure(kPlaces * sizeof(HuffmanTable)));
  auto* const tables = reinterpret_cast<HuffmanTable*>(memory_.data());
  const auto same = [&](const Place& place) {
    return place.kind == kind && place.size == code.size() && std::equal(code.begin(), code.end(), place.code.begin());
  };
  auto found = std::find_if(places_.begin(), places_.end(), same);
  if (found == places_.end()) {
    found = places_.begin() + static_cast<std::ptrdiff_t>(next_);
    next_ = (next_ + 1) % kPlaces;
    found->kind = kind;
    found->size = code.size();
    std::copy(code.begin(), code.end(), found->code.begin());
    found->good = kernel::jpeg::make_table(*new (tables + (found - places_.begin())) HuffmanTable, kind, code);
  }
  return found->good ? tables + (found - places_.begin()) : nullptr;
}

void TableCache::reset() noexcept {
  memory_.reset();
  for (Place& place : places_) place.size = 0;
}

}  // namespace drapps::jpeg
