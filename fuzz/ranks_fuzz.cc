// Any ranks are refused, or make a tokenizer. With one for each byte the text that the input is gets the same ids
// twice, with the memory of words empty and full, and they are decoded to it.
//
// An input is a byte of options, and tokens: a byte of length, and of the rank where options say so, then the token.
#include <algorithm>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "drapps/text/ranks.h"
#include "drapps/text/unicode/utf8_repair.h"

namespace {

namespace text = drapps::text;

constexpr std::string_view kRegex =
    R"('(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s)";
constexpr std::string_view kOtherRegex =
    R"('(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|)"
    R"(\s*[\r\n]|\s+(?!\S)|\s)";

void check(bool holds) {
  if (!holds) std::abort();
}

/// Bytes of the input, or zeros behind its end.
struct Input {
  std::string_view left;

  std::uint8_t byte() {
    const std::string_view one = take(1);
    return one.empty() ? 0 : static_cast<std::uint8_t>(one[0]);
  }
  std::string_view take(std::size_t size) {
    const std::string_view taken = left.substr(0, size);
    left.remove_prefix(taken.size());
    return taken;
  }
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Input input{{reinterpret_cast<const char*>(data), size}};
  std::string content(input.left);
  std::string repaired;
  if (text::repair_utf8(content, repaired)) content = repaired;

  const std::uint8_t options = input.byte();
  const bool all_bytes = (options & 1) == 0, in_order = (options & 2) == 0;
  std::vector<std::string> bytes;
  std::vector<text::TokenBytes> ranks, specials;
  for (int byte = 0; byte < 256; ++byte) bytes.emplace_back(1, static_cast<char>(byte));
  if (all_bytes) {
    for (const std::string& byte : bytes) ranks.push_back({byte, static_cast<text::TokenId>(ranks.size())});
  }
  while (!input.left.empty()) {
    const std::uint8_t length = input.byte();
    const auto next = static_cast<text::TokenId>(ranks.size() + specials.size());
    const text::TokenId id = in_order ? next : next + static_cast<std::int8_t>(input.byte());
    const std::string_view token = input.take(length % 32);
    (length >= 0xF0 ? specials : ranks).push_back({token, id});
  }
  auto parts = text::parts_of_ranks(ranks, (options & 4) == 0 ? kRegex : kOtherRegex, specials);
  if (!parts.ok()) return 0;
  const text::Tokenizer tokenizer(std::move(parts).value());
  const auto first = tokenizer.encode({content}, 1, {});
  const auto second = tokenizer.encode({content}, 1, {});
  check(first.ok() && second.ok());
  const text::IdBuffer &a = first->ids, &b = second->ids;
  check(std::equal(a.data(), a.data() + a.size(), b.data(), b.data() + b.size()));
  const auto decoded = tokenizer.decode({a.data(), a.data() + a.size()}, false, false);
  check(decoded.ok() && *decoded == content);
  return 0;
}
