// The parts of a document where documents are by themselves: all of it, or runs of its ids that overlap.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "drapps/text/pack/packing.h"

namespace drapps::text {

/// A run of the ids of a document, or of several that stand one behind the other.
struct Part {
  std::size_t at = 0;
  std::uint32_t size = 0;
};

/// The most ids of a part, without what marks its beginning and end.
constexpr std::uint32_t room_of(const Packing& packing) noexcept {
  return packing.length - (packing.bos ? 1 : 0) - (packing.eos ? 1 : 0);
}

/// How many parts a document of so many ids has. Requires room_of(packing) > packing.overlap.
constexpr std::uint64_t parts_of(const Packing& packing, std::size_t ids) noexcept {
  const std::uint32_t room = room_of(packing);
  if (packing.truncate || ids <= room) return 1;
  const std::uint32_t step = room - packing.overlap;
  return 1 + (ids - room + step - 1) / step;
}

/// A part of a document of so many ids, by its number; in ids of the document.
constexpr Part part_of(const Packing& packing, std::size_t ids, std::uint64_t part) noexcept {
  const std::uint32_t room = room_of(packing);
  const std::size_t at = part * (room - packing.overlap);
  return {at, static_cast<std::uint32_t>(std::min<std::size_t>(room, ids - at))};
}

/// Appends the ids of a part, with what marks its beginning and end.
inline void append_part(const Packing& packing, std::span<const TokenId> part, std::vector<TokenId>& row) {
  if (packing.bos) row.push_back(*packing.bos);
  row.insert(row.end(), part.begin(), part.end());
  if (packing.eos) row.push_back(*packing.eos);
}

/// The packing without marks, to encode documents of which each part is marked and not the whole.
inline Packing unmarked(Packing packing) {
  packing.bos.reset();
  packing.eos.reset();
  return packing;
}

}  // namespace drapps::text
