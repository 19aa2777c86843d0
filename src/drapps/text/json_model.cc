#include "drapps/text/json_model.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "drapps/text/bpe/build_model.h"
#include "drapps/text/byte_chars.h"
#include "drapps/text/json_read.h"
#include "drapps/text/refusal.h"

namespace drapps::text {
namespace {

bool absent_or_empty(const Json& model, const char* name) {
  const auto found = model.find(name);
  if (found == model.end() || found->is_null()) return true;
  return found->is_string() ? found->get_ref<const std::string&>().empty() : *found == 0.0;
}

/// The strings of the vocabulary by id.
Result<std::vector<std::string_view>> read_vocabulary(const JsonScan& scan, TokenTable& ids) {
  ids = TokenTable(scan.vocabulary.size());
  std::vector<std::string_view> strings;
  strings.reserve(scan.vocabulary.size());
  for (const auto& [range, id] : scan.vocabulary) {
    const std::string_view token = scan.text(range);
    if (id >= kMaxMergeIds) return refused("the id " + std::to_string(id) + ", beyond a million tokens");
    if (token.empty()) return refused("a token without a character");
    if (id >= strings.size()) strings.resize(id + 1);
    if (!strings[id].empty()) return refused("two tokens with the id " + std::to_string(id));
    if (ids.find(token) >= 0) return refused("the token " + std::string(token) + " twice");
    strings[id] = token;
    ids.insert(token, static_cast<TokenId>(id));
  }
  return strings;
}

Result<std::vector<MergeRule>> read_merges(const JsonScan& scan, const TokenTable& ids) {
  std::vector<MergeRule> rules;
  rules.reserve(scan.merges.size() / 2);
  std::string together;
  for (std::size_t i = 0; i + 1 < scan.merges.size(); i += 2) {
    const std::string_view left = scan.text(scan.merges[i]);
    const std::string_view right = scan.text(scan.merges[i + 1]);
    together.assign(left).append(right);
    const MergeRule rule{ids.find(left), ids.find(right), ids.find(together)};
    if (rule.left < 0 || rule.right < 0 || rule.merged < 0) {
      const auto& missing = rule.left < 0 ? left : rule.right < 0 ? right : std::string_view(together);
      return corrupt("names '" + std::string(missing) + "' in merge " + std::to_string(i / 2) +
                     ", which is not in its vocabulary");
    }
    rules.push_back(rule);
  }
  return rules;
}

}  // namespace

Status read_json_model(const JsonScan& scan, TokenTable& ids, TokenizerParts& parts) {
  const Json& model = scan.rest["model"];
  const auto type = model.find("type");
  if (type == model.end() || *type != "BPE") {
    return refused("the model " + (type == model.end() ? "without a type" : type->dump()));
  }
  if (!absent_or_empty(model, "dropout")) return refused("dropout");
  if (!absent_or_empty(model, "continuing_subword_prefix")) return refused("continuing_subword_prefix");
  if (!absent_or_empty(model, "end_of_word_suffix")) return refused("end_of_word_suffix");

  if (!scan.has_vocabulary) return corrupt("has no vocabulary in its model");
  if (!scan.damage.empty()) return corrupt(scan.damage);
  if (!scan.has_merges) return corrupt("has no merges in its model");
  auto strings = read_vocabulary(scan, ids);
  if (!strings.ok()) return std::move(strings).error();
  auto merges = read_merges(scan, ids);
  if (!merges.ok()) return std::move(merges).error();

  std::vector<TokenBytes> tokens;
  parts.decoded.resize(strings->size());
  for (std::size_t id = 0; id < strings->size(); ++id) {
    const std::string_view string = (*strings)[id];
    if (string.empty()) continue;
    ++parts.vocabulary;
    std::string& bytes = parts.decoded[id];
    if (to_bytes(string, bytes)) {
      tokens.push_back({bytes, static_cast<TokenId>(id)});
    } else {
      bytes = string;  // no text comes to it, and it is decoded as it stands
    }
  }
  parts.model = model_of_merges(tokens, *merges, is_true(model, "ignore_merges"));
  const auto& bytes = parts.model.byte_ids;
  const bool all_bytes = std::find(bytes.begin(), bytes.end(), -1) == bytes.end();
  if (!all_bytes && !absent_or_empty(model, "unk_token")) return refused("unk_token without a token for each byte");
  if (!all_bytes && is_true(model, "byte_fallback")) return refused("byte_fallback");
  return ok_status();
}

}  // namespace drapps::text
