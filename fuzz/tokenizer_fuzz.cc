// Any text is refused as a tokenizer.json, or made a tokenizer, which then gives the file's own text the same ids
// twice: with its memory of words empty, and full. Its rows keep what was asked of them. What can be read has a digest.
// What is read of it does not depend on who reads its long lists.
#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "drapps/text/json_digest.h"
#include "drapps/text/json_scan.h"
#include "drapps/text/rows.h"
#include "drapps/text/tokenizer_json.h"

namespace {

namespace text = drapps::text;

void check(bool holds) {
  if (!holds) std::abort();
}

void check_scans(std::string_view json) {
  const auto scan = text::scan_tokenizer_json(json), other = text::scan_tokenizer_json_at_once(json);
  check(scan.ok() == other.ok());
  if (!scan.ok()) return check(scan.error().message == other.error().message);
  check(scan->rest == other->rest && scan->damage == other->damage);
  check(scan->has_vocabulary == other->has_vocabulary && scan->has_merges == other->has_merges);
  const auto same_text = [&](text::JsonScan::TextRange one, text::JsonScan::TextRange two) {
    return scan->text(one) == other->text(two);
  };
  const auto same_entry = [&](const auto& one, const auto& two) {
    return one.id == two.id && same_text(one.token, two.token);
  };
  check(std::ranges::equal(scan->vocabulary, other->vocabulary, same_entry));
  check(std::ranges::equal(scan->merges, other->merges, same_text));
}

/// Rows of the text beside itself, cut and padded by its first bytes.
void check_rows(const text::Tokenizer& tokenizer, std::string_view json) {
  const auto byte = [&](std::size_t at) { return static_cast<std::uint8_t>(json[at % json.size()]); };
  text::RowOptions options{.specials = byte(0) % 2 == 0,
                           .overflowing = true,
                           .special_mask = true,
                           .places = byte(1) % 2 == 0,
                           .cutting = static_cast<text::Cutting>(byte(2) % 4),
                           .max_length = std::size_t{1} + byte(3),
                           .stride = byte(4) % std::size_t{8},
                           .cut_left = byte(5) % 2 == 0,
                           .padding = static_cast<text::Padding>(byte(6) % 3),
                           .length = byte(7)};
  const std::vector<std::string_view> seconds{json.substr(0, json.size() / 2)};
  const std::string_view end = json.substr(json.size() / 2);
  const bool whole = json.empty() || (static_cast<std::uint8_t>(end[0]) & 0xC0) != 0x80;
  for (const auto* second : {static_cast<const std::vector<std::string_view>*>(nullptr), &seconds}) {
    if (second != nullptr && !whole) continue;
    const auto rows = text::make_rows(tokenizer, {json}, second, options);
    if (!rows.ok()) continue;
    check(rows->ids.size() == static_cast<std::size_t>(rows->begins.back()));
    check(rows->samples.size() + 1 == rows->begins.size());
    check(rows->special_mask.size() == rows->ids.size());
    for (std::size_t i = 0; i < rows->places.size(); i += 2) {
      check(0 <= rows->places[i] && rows->places[i] <= rows->places[i + 1]);
      check(rows->places[i + 1] <= static_cast<std::int64_t>(json.size()));
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view json(reinterpret_cast<const char*>(data), size);
  check(text::digest_of_json(json) == text::digest_of_json(json));
  check_scans(json);
  auto parts = text::parse_tokenizer_json(json);
  if (!parts.ok()) return 0;
  const text::Tokenizer tokenizer(std::move(parts).value());
  const auto first = tokenizer.encode({json}, 1, {});  // what is read is valid UTF-8
  const auto second = tokenizer.encode({json}, 1, {});
  check(first.ok() == second.ok());
  if (!first.ok()) return 0;
  const text::IdBuffer &a = first->ids, &b = second->ids;
  check(std::equal(a.data(), a.data() + a.size(), b.data(), b.data() + b.size()));
  check(std::all_of(a.data(), a.data() + a.size(), [](text::TokenId id) { return id >= 0; }));
  check_rows(tokenizer, json);
  return 0;
}
