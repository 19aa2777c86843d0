#include "drapps/text/json_added.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "drapps/text/byte_chars.h"
#include "drapps/text/json_read.h"
#include "drapps/text/refusal.h"

namespace drapps::text {
namespace {

bool starts_with_space(const std::string& content) {
  return content.find_first_of(" \t\n\v\f\r") == 0 || static_cast<unsigned char>(content[0]) >= 0x80;
}

/// The id that `tokenizers` gives a token: the vocabulary's, else the next one.
TokenId next_id(const Json& vocabulary, const std::string& content, const TokenizerParts& parts) {
  if (const auto found = vocabulary.find(content); found != vocabulary.end()) return found->get<TokenId>();
  auto next = static_cast<TokenId>(vocabulary.size());
  for (const AddedToken& token : parts.added) next = std::max(next, token.id + 1);
  return next;
}

Status read_token(const Json& json, const Json& vocabulary, TokenizerParts& parts) {
  const auto content = json.find("content");
  const auto id = json.find("id");
  if (!json.is_object() || content == json.end() || !content->is_string() || id == json.end() ||
      !id->is_number_unsigned()) {
    return corrupt("has an added token without content and id: " + json.dump());
  }
  AddedToken token{.content = content->get<std::string>(),
                   .lstrip = is_true(json, "lstrip"),
                   .rstrip = is_true(json, "rstrip"),
                   .normalized = is_true(json, "normalized"),
                   .special = is_true(json, "special")};
  if (token.content.empty()) return refused("an added token without a character");
  token.id = next_id(vocabulary, token.content, parts);
  if (id->get<std::uint64_t>() != static_cast<std::uint64_t>(token.id)) {
    return refused("the added token " + token.content + ", whose id is " + id->dump() + " in the file and " +
                   std::to_string(token.id) + " when it is loaded");
  }
  if (is_true(json, "single_word")) return refused("single_word of the added token " + token.content);
  const auto at = static_cast<std::size_t>(token.id);
  if (at >= parts.decoded.size()) parts.decoded.resize(at + 1);
  if (parts.decoded[at].empty()) {
    ++parts.vocabulary;
    std::string bytes;
    parts.decoded[at] = to_bytes(token.content, bytes) ? bytes : token.content;
  }
  parts.added.push_back(std::move(token));
  return ok_status();
}

}  // namespace

Status read_json_added(const Json& added, const Json& model, TokenizerParts& parts) {
  if (!added.is_array()) return corrupt("has added_tokens that are no list");
  std::set<std::string> contents;
  for (const Json& token : added) {
    DRAPPS_RETURN_IF_ERROR(read_token(token, model["vocab"], parts));
    if (!contents.insert(parts.added.back().content).second) {
      return refused("the added token " + parts.added.back().content + " twice");
    }
  }
  const auto strips = [](const AddedToken& token) { return token.rstrip; };
  const auto begins = [](const AddedToken& token) { return starts_with_space(token.content); };
  if (std::any_of(parts.added.begin(), parts.added.end(), strips) &&
      std::any_of(parts.added.begin(), parts.added.end(), begins)) {
    return refused("an added token with rstrip beside one that begins with white space");
  }
  return ok_status();
}

}  // namespace drapps::text
