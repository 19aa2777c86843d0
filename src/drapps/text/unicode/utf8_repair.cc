#include "drapps/text/unicode/utf8_repair.h"

#include <simdjson.h>

#include "drapps/text/unicode/utf8.h"

namespace drapps::text {
namespace {

/// What a character can be that begins at a place.
struct Sequence {
  std::uint32_t size;  // of the character, or of the longest piece of one that is there
  bool whole;
};

bool is_tail(std::uint8_t byte) noexcept { return (byte & 0xC0) == 0x80; }

/// Requires p < end and a byte from 0x80 there. Table 3-7 of the Unicode Standard.
Sequence sequence_at(Place p, Place end) noexcept {
  const std::uint8_t lead = *p;
  if (lead < 0xC2 || lead > 0xF4) return {1, false};
  const std::uint32_t size = utf8_size(lead);
  std::uint8_t least = 0x80;
  std::uint8_t most = 0xBF;
  if (lead == 0xE0) least = 0xA0;
  if (lead == 0xED) most = 0x9F;  // beyond are surrogates
  if (lead == 0xF0) least = 0x90;
  if (lead == 0xF4) most = 0x8F;
  if (end - p < 2 || p[1] < least || p[1] > most) return {1, false};
  for (std::uint32_t i = 2; i < size; ++i) {
    if (end - p <= static_cast<std::ptrdiff_t>(i) || !is_tail(p[i])) return {i, false};
  }
  return {size, true};
}

}  // namespace

bool repair_utf8(std::string_view bytes, std::string& out) {
  if (simdjson::validate_utf8(bytes.data(), bytes.size())) return false;
  const Place begin = reinterpret_cast<Place>(bytes.data());
  const Place end = begin + bytes.size();
  Place done = begin;  // up to here `out` has everything
  out.clear();
  for (Place p = begin; p < end;) {
    if (*p < 0x80) {
      ++p;
      continue;
    }
    const Sequence sequence = sequence_at(p, end);
    if (!sequence.whole) {
      out.append(reinterpret_cast<const char*>(done), static_cast<std::size_t>(p - done));
      out.append("\xEF\xBF\xBD");
      done = p + sequence.size;
    }
    p += sequence.size;
  }
  out.append(reinterpret_cast<const char*>(done), static_cast<std::size_t>(end - done));
  return true;
}

}  // namespace drapps::text
