// Where tokens stand in their text: the offsets of `tokenizers`, in characters.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "drapps/text/bpe/pair_table.h"

namespace drapps::text {

/// An added token where it was found.
struct Mark {
  std::size_t token;      // its place among the ids
  std::string_view text;  // what it took of the text, stripped white space too
};

/// The places of tokens, one behind the other: the first character, the one behind the last, and how many characters
/// are white space that post-processing may leave out on either side. Tokens that begin or end within a character have
/// all of it.
struct Places {
  std::vector<std::int32_t> begins;
  std::vector<std::int32_t> ends;
  std::vector<std::int32_t> leading;  // only where asked for
  std::vector<std::int32_t> trailing;
};

/// Appends the places of the ids of one text; `decoded` has the bytes of each id. False where the ids do not make up
/// the text, because bytes were left out.
bool append_places(std::string_view text, std::span<const TokenId> ids, std::span<const Mark> marks,
                   const std::vector<std::string>& decoded, bool spaces, Places& places);

}  // namespace drapps::text
