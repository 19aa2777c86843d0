#include "drapps/text/json_added.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <utility>

#include "drapps/text/byte_chars.h"

namespace drapps::text {
namespace {

using AddedJson = nlohmann::json;

Error corrupt_added(std::string message) { return {.code = ErrorCode::kCorrupt, .message = std::move(message)}; }
Error refused_added(std::string reason) { return {.code = ErrorCode::kUnsupported, .message = std::move(reason)}; }

bool flag(const AddedJson& token, const char* name) {
  const auto found = token.find(name);
  return found != token.end() && *found == true;
}

bool starts_with_space(const std::string& content) {
  return content.find_first_of(" \t\n\v\f\r") == 0 || static_cast<unsigned char>(content[0]) >= 0x80;
}

/// The id that `tokenizers` gives a token: the vocabulary's, else the next one.
TokenId next_id(const AddedJson& vocabulary, const std::string& content, const TokenizerParts& parts) {
  if (const auto found = vocabulary.find(content); found != vocabulary.end()) return found->get<TokenId>();
  auto next = static_cast<TokenId>(vocabulary.size());
  for (const AddedToken& token : parts.added) next = std::max(next, token.id + 1);
  return next;
}

Status read_token(const AddedJson& json, const AddedJson& vocabulary, TokenizerParts& parts) {
  const auto content = json.find("content");
  const auto id = json.find("id");
  if (!json.is_object() || content == json.end() || !content->is_string() || id == json.end() ||
      !id->is_number_unsigned()) {
    return corrupt_added("has an added token without content and id: " + json.dump());
  }
  AddedToken token{.content = content->get<std::string>(),
                   .lstrip = flag(json, "lstrip"),
                   .rstrip = flag(json, "rstrip"),
                   .normalized = flag(json, "normalized"),
                   .special = flag(json, "special")};
  if (token.content.empty()) return refused_added("an added token without a character");
  token.id = next_id(vocabulary, token.content, parts);
  if (id->get<std::uint64_t>() != static_cast<std::uint64_t>(token.id)) {
    return refused_added("the added token " + token.content + ", whose id is " + id->dump() + " in the file and " +
                         std::to_string(token.id) + " when it is loaded");
  }
  if (flag(json, "single_word")) return refused_added("single_word of the added token " + token.content);
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

/// Appends the ids of a special token of a template.
Status append_special(const AddedJson& post, const AddedJson& piece, std::vector<TokenId>& ids) {
  const auto specials = post.find("special_tokens");
  const auto name = piece.find("id");
  if (specials == post.end() || !specials->is_object() || name == piece.end() || !name->is_string() ||
      !specials->contains(name->get<std::string>())) {
    return corrupt_added("has a template with the token " + piece.dump() + ", which it does not list");
  }
  const AddedJson& special = (*specials)[name->get<std::string>()];
  const auto list = special.find("ids");
  if (list == special.end() || !list->is_array()) return corrupt_added("has a template's token without ids");
  for (const AddedJson& id : *list) {
    if (!id.is_number_unsigned() || id.get<std::uint64_t>() > 0x7FFFFFFF) {
      return corrupt_added("has a template's token with the id " + id.dump());
    }
    ids.push_back(id.get<TokenId>());
  }
  return ok_status();
}

Status read_template(const AddedJson& post, TokenizerParts& parts) {
  const auto single = post.find("single");
  if (single == post.end() || !single->is_array()) return corrupt_added("has a template without pieces");
  int texts = 0;
  for (const AddedJson& piece : *single) {
    if (piece.is_object() && piece.contains("Sequence")) {
      ++texts;
    } else if (piece.is_object() && piece.contains("SpecialToken")) {
      DRAPPS_RETURN_IF_ERROR(append_special(post, piece["SpecialToken"], texts > 0 ? parts.suffix : parts.prefix));
    } else {
      return corrupt_added("has a template with the piece " + piece.dump());
    }
  }
  return texts == 1 ? ok_status() : Status(refused_added("a template that has the text not just once"));
}

}  // namespace

Status read_json_added(const AddedJson& added, const AddedJson& model, TokenizerParts& parts) {
  if (!added.is_array()) return corrupt_added("has added_tokens that are no list");
  std::set<std::string> contents;
  for (const AddedJson& token : added) {
    DRAPPS_RETURN_IF_ERROR(read_token(token, model["vocab"], parts));
    if (!contents.insert(parts.added.back().content).second) {
      return refused_added("the added token " + parts.added.back().content + " twice");
    }
  }
  const auto strips = [](const AddedToken& token) { return token.rstrip; };
  const auto begins = [](const AddedToken& token) { return starts_with_space(token.content); };
  if (std::any_of(parts.added.begin(), parts.added.end(), strips) &&
      std::any_of(parts.added.begin(), parts.added.end(), begins)) {
    return refused_added("an added token with rstrip beside one that begins with white space");
  }
  return ok_status();
}

Status read_json_post_processor(const AddedJson& post, TokenizerParts& parts) {
  const std::string type = post.is_object() && post.contains("type") ? post["type"].dump() : "\"\"";
  if (type == "\"ByteLevel\"") return ok_status();
  if (type == "\"TemplateProcessing\"") {
    if (!parts.prefix.empty() || !parts.suffix.empty()) return refused_added("two templates");
    return read_template(post, parts);
  }
  if (type == "\"Sequence\"" && post.contains("processors") && post["processors"].is_array()) {
    for (const AddedJson& step : post["processors"]) {
      if (step.is_object() && step.contains("type") && step["type"] == "Sequence") {
        return refused_added("a post_processor in a post_processor");
      }
      DRAPPS_RETURN_IF_ERROR(read_json_post_processor(step, parts));
    }
    return ok_status();
  }
  return refused_added("the post_processor " + type);
}

}  // namespace drapps::text
