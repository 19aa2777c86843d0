// Any text is refused as a tokenizer.json, or made a tokenizer, which then gives the file's own text the same ids
// twice: with its memory of words empty, and full.
#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "drapps/text/tokenizer_json.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view json(reinterpret_cast<const char*>(data), size);
  auto parts = drapps::text::parse_tokenizer_json(json);
  if (!parts.ok()) return 0;
  const drapps::text::Tokenizer tokenizer(std::move(parts).value());
  const auto first = tokenizer.encode({json}, 1, {});  // what is read is valid UTF-8
  const auto second = tokenizer.encode({json}, 1, {});
  if (first.ok() != second.ok()) std::abort();
  if (!first.ok()) return 0;
  const drapps::text::IdBuffer &a = first->ids, &b = second->ids;
  if (!std::equal(a.data(), a.data() + a.size(), b.data(), b.data() + b.size())) std::abort();
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a.data()[i] < 0) std::abort();
  }
  return 0;
}
