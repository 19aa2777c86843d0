// What is put around a text and a second one, its pair: tokens such as those of the beginning and the end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "drapps/text/bpe/pair_table.h"

namespace drapps::text {

/// One of the texts, or tokens of the template itself.
struct Piece {
  enum class Of : std::uint8_t { kTemplate, kFirst, kSecond };

  Of of = Of::kTemplate;
  std::int32_t type = 0;       // of its tokens
  std::vector<TokenId> ids{};  // where they are the template's
};

/// The pieces of a row, in order. Each text stands in it once at most.
using Template = std::vector<Piece>;

/// How many tokens a template adds.
inline std::size_t added_by(const Template& pieces) noexcept {
  std::size_t ids = 0;
  for (const Piece& piece : pieces) ids += piece.ids.size();
  return ids;
}

}  // namespace drapps::text
