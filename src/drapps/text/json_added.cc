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

/// Reads added tokens one by one.
class AddedReader {
 public:
  AddedReader(const TokenTable& ids, TokenizerParts& parts)
      : ids_(ids), parts_(parts), next_(static_cast<TokenId>(parts.vocabulary)) {}

  Status read(const Json& json);

 private:
  const TokenTable& ids_;
  TokenizerParts& parts_;
  TokenId next_;  // id of a token that the vocabulary has not
};

Status AddedReader::read(const Json& json) {
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
  const TokenId known = ids_.find(token.content);  // `tokenizers` gives it the vocabulary's id, else the next one
  token.id = known >= 0 ? known : next_;
  next_ = std::max(next_, token.id + 1);
  if (id->get<std::uint64_t>() != static_cast<std::uint64_t>(token.id)) {
    return refused("the added token " + token.content + ", whose id is " + id->dump() + " in the file and " +
                   std::to_string(token.id) + " when it is loaded");
  }
  if (is_true(json, "single_word")) return refused("single_word of the added token " + token.content);
  const auto at = static_cast<std::size_t>(token.id);
  if (at >= parts_.decoded.size()) parts_.decoded.resize(at + 1);
  if (parts_.decoded[at].empty()) {
    ++parts_.vocabulary;
    std::string bytes;
    parts_.decoded[at] = to_bytes(token.content, bytes) ? bytes : token.content;
  }
  parts_.added.push_back(std::move(token));
  return ok_status();
}

}  // namespace

Status read_json_added(const Json& added, const TokenTable& ids, TokenizerParts& parts) {
  if (!added.is_array()) return corrupt("has added_tokens that are no list");
  AddedReader reader(ids, parts);
  std::set<std::string> contents;
  for (const Json& token : added) {
    DRAPPS_RETURN_IF_ERROR(reader.read(token));
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
