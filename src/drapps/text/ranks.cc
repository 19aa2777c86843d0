#include "drapps/text/ranks.h"

#include <algorithm>
#include <string>
#include <utility>

#include "drapps/base/caught.h"
#include "drapps/text/refusal.h"

namespace drapps::text {
namespace {

/// Puts bytes at their id; false where another token has it.
bool place(std::vector<std::string>& decoded, const TokenBytes& token) {
  const auto at = static_cast<std::size_t>(token.id);
  if (at >= decoded.size()) decoded.resize(at + 1);
  if (!decoded[at].empty()) return false;
  decoded[at] = token.bytes;
  return true;
}

Result<TokenizerParts> make(const std::vector<TokenBytes>& ranks, std::string_view regex,
                            const std::vector<TokenBytes>& specials) {
  TokenizerParts parts;
  const auto pattern = pattern_of(regex, Oracle::kTiktoken);
  if (!pattern) return refused("the pattern " + std::string(regex));
  parts.pattern = *pattern;
  parts.added_on_request = true;
  for (const auto* tokens : {&ranks, &specials}) {
    for (const TokenBytes& token : *tokens) {
      if (token.id < 0) return invalid("the id " + std::to_string(token.id) + " is below zero");
      if (static_cast<std::uint32_t>(token.id) >= kMaxMergeIds) {
        return refused("the id " + std::to_string(token.id) + ", beyond a million tokens");
      }
      if (token.bytes.empty()) return refused("a token without a byte");
      const bool same = tokens == &specials && std::any_of(specials.data(), &token, [&](const TokenBytes& before) {
                          return before.id == token.id;
                        });
      if (!same && !place(parts.decoded, token)) return refused("two tokens with the id " + std::to_string(token.id));
    }
  }
  parts.vocabulary = parts.decoded.size();
  parts.model = model_of_ranks(ranks);
  const auto& bytes = parts.model.byte_ids;
  if (std::find(bytes.begin(), bytes.end(), -1) != bytes.end()) return refused("no token for some byte");
  for (const TokenBytes& special : specials) {
    for (const TokenBytes& other : specials) {
      if (special.id != other.id && other.bytes.starts_with(special.bytes)) {
        return refused("the special token " + std::string(special.bytes) + ", with which " + std::string(other.bytes) +
                       " begins");
      }
    }
    parts.added.push_back({.content = std::string(special.bytes), .id = special.id});
  }
  return parts;
}

}  // namespace

Result<TokenizerParts> parts_of_ranks(const std::vector<TokenBytes>& ranks, std::string_view regex,
                                      const std::vector<TokenBytes>& specials) {
  return catching([&] { return make(ranks, regex, specials); });
}

}  // namespace drapps::text
