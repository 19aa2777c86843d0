#include "drapps/text/json_post.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "drapps/text/json_read.h"
#include "drapps/text/refusal.h"

namespace drapps::text {
namespace {

/// The ids of a special token of a template.
Result<std::vector<TokenId>> ids_of_special(const Json& post, const Json& piece) {
  const auto specials = post.find("special_tokens");
  const auto name = piece.find("id");
  if (specials == post.end() || !specials->is_object() || name == piece.end() || !name->is_string() ||
      !specials->contains(name->get<std::string>())) {
    return corrupt("has a template with the token " + piece.dump() + ", which it does not list");
  }
  const Json& special = (*specials)[name->get<std::string>()];
  const auto list = special.find("ids");
  if (list == special.end() || !list->is_array()) return corrupt("has a template's token without ids");
  std::vector<TokenId> ids;
  for (const Json& id : *list) {
    if (!id.is_number_unsigned() || id.get<std::uint64_t>() > 0x7FFFFFFF) {
      return corrupt("has a template's token with the id " + id.dump());
    }
    ids.push_back(id.get<TokenId>());
  }
  return ids;
}

/// The type of the tokens of a piece.
std::optional<std::int32_t> type_id(const Json& piece) {
  const auto type = piece.find("type_id");
  if (type == piece.end()) return 0;
  if (!type->is_number_unsigned() || type->get<std::uint64_t>() > 0x7FFFFFFF) return std::nullopt;
  return type->get<std::int32_t>();
}

Result<Template> read_pieces(const Json& post, const char* name) {
  const auto list = post.find(name);
  if (list == post.end() || !list->is_array()) return corrupt("has a template without pieces");
  Template pieces;
  for (const Json& json : *list) {
    const bool text = json.is_object() && json.contains("Sequence") && json["Sequence"].is_object();
    const bool token = json.is_object() && json.contains("SpecialToken") && json["SpecialToken"].is_object();
    if (!text && !token) return corrupt("has a template with the piece " + json.dump());
    const Json& inner = json[text ? "Sequence" : "SpecialToken"];
    const auto type = type_id(inner);
    if (!type) return corrupt("has a template with the piece " + json.dump());
    Piece piece{.type = *type};
    if (text) {
      piece.of = has(inner, "id", "B", false) ? Piece::Of::kSecond : Piece::Of::kFirst;
    } else {
      auto ids = ids_of_special(post, inner);
      if (!ids.ok()) return std::move(ids).error();
      piece.ids = std::move(ids).value();
    }
    pieces.push_back(std::move(piece));
  }
  return pieces;
}

std::size_t count(const Template& pieces, Piece::Of of) {
  const auto is = [of](const Piece& piece) { return piece.of == of; };
  return static_cast<std::size_t>(std::count_if(pieces.begin(), pieces.end(), is));
}

Status read_template(const Json& post, TokenizerParts& parts) {
  auto single = read_pieces(post, "single");
  if (!single.ok()) return std::move(single).error();
  if (count(*single, Piece::Of::kFirst) != 1 || count(*single, Piece::Of::kSecond) != 0) {
    return refused("a template that has the text not just once");
  }
  parts.single = std::move(single).value();
  parts.pair.reset();
  auto pair = read_pieces(post, "pair");
  const bool twice = pair.ok() && count(*pair, Piece::Of::kFirst) == 1 && count(*pair, Piece::Of::kSecond) == 1;
  if (twice) parts.pair = std::move(pair).value();
  return ok_status();
}

/// Of the steps of a post_processor, how many were read.
struct PostSteps {
  int templates = 0;
  int trims = 0;
};

Status read_step(const Json& post, PostSteps& steps, TokenizerParts& parts) {
  const std::string type = type_of(post);
  if (type == "ByteLevel") {
    if (has(post, "trim_offsets", false, false)) return ok_status();
    if (++steps.trims > 1) return refused("offsets that are trimmed twice");
    parts.trim = has(post, "add_prefix_space", false, false) ? Trim::kAll : Trim::kAllButFirst;
    return ok_status();
  }
  if (type == "TemplateProcessing") {
    if (++steps.templates > 1) return refused("two templates");
    return read_template(post, parts);
  }
  return refused("the post_processor " + type);
}

}  // namespace

Status read_json_post_processor(const Json& post, TokenizerParts& parts) {
  PostSteps steps;
  if (type_of(post) != "Sequence") return read_step(post, steps, parts);
  const auto processors = post.find("processors");
  if (processors == post.end() || !processors->is_array()) return refused("the post_processor " + post.dump());
  for (const Json& step : *processors) DRAPPS_RETURN_IF_ERROR(read_step(step, steps, parts));
  return ok_status();
}

}  // namespace drapps::text
