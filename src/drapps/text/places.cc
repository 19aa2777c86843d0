#include "drapps/text/places.h"

#include "drapps/text/unicode/classes.h"
#include "drapps/text/unicode/utf8.h"

namespace drapps::text {
namespace {

/// The character that stands for a space in tokens: in the text of an added token it counts as one too.
constexpr char32_t kSpaceOfTokens = 0x120;

bool is_lead(char byte) noexcept { return (static_cast<std::uint8_t>(byte) & 0xC0) != 0x80; }

std::int32_t characters(std::string_view bytes) noexcept {
  std::int32_t leads = 0;
  for (const char byte : bytes) leads += is_lead(byte);
  return leads;
}

/// Spaces on either side.
struct Spaces {
  std::int32_t leading = 0;
  std::int32_t trailing = 0;
};

/// The spaces of a token of the model, whose bytes these are.
Spaces spaces_of_bytes(std::string_view bytes) noexcept {
  const std::size_t first = bytes.find_first_not_of(' ');
  const auto size = static_cast<std::int32_t>(bytes.size());
  if (first == std::string_view::npos) return {size, size};
  return {static_cast<std::int32_t>(first), size - 1 - static_cast<std::int32_t>(bytes.find_last_not_of(' '))};
}

/// The spaces of an added token that took this text.
Spaces spaces_of_text(std::string_view text) noexcept {
  const std::uint8_t* const table = class_table();
  Place p = reinterpret_cast<Place>(text.data());
  const Place end = p + text.size();
  Spaces spaces;
  std::int32_t run = 0;
  bool only = true;
  while (p < end) {
    const CodePoint point = decode_utf8(p);
    const bool space = point.value == kSpaceOfTokens || (table[point.value] & kSpace) != 0;
    run = space ? run + 1 : 0;
    only = only && space;
    if (only) spaces.leading = run;
    p += point.size;
  }
  spaces.trailing = run;
  return spaces;
}

}  // namespace

bool append_places(std::string_view text, std::span<const TokenId> ids, std::span<const Mark> marks,
                   const std::vector<std::string>& decoded, bool spaces, Places& places) {
  std::size_t at = 0;
  std::int32_t seen = 0;  // characters that begin before `at`
  auto mark = marks.begin();
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const bool added = mark != marks.end() && mark->token == i;
    const std::string_view token = added ? mark->text : decoded[static_cast<std::size_t>(ids[i])];
    if (token.empty() || token.size() > text.size() - at) return false;
    const std::string_view bytes = text.substr(at, token.size());
    if (added && bytes.data() != token.data()) return false;
    places.begins.push_back(is_lead(bytes[0]) ? seen : seen - 1);
    seen += characters(bytes);
    places.ends.push_back(seen);
    if (spaces) {
      const Spaces blanks = added ? spaces_of_text(token) : spaces_of_bytes(token);
      places.leading.push_back(blanks.leading);
      places.trailing.push_back(blanks.trailing);
    }
    at += token.size();
    if (added) ++mark;
  }
  return at == text.size();
}

}  // namespace drapps::text
