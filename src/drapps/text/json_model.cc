#include "drapps/text/json_model.h"

#include <algorithm>
#include <limits>
#include <optional>
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
Result<std::vector<std::string_view>> read_vocabulary(const Json& model, TokenTable& ids) {
  const auto vocabulary = model.find("vocab");
  if (vocabulary == model.end() || !vocabulary->is_object()) return corrupt("has no vocabulary in its model");
  ids = TokenTable(vocabulary->size());
  std::vector<std::string_view> strings;
  for (const auto& item : vocabulary->items()) {
    const std::string& token = item.key();
    const Json& number = item.value();
    if (!number.is_number_unsigned() || number.get<std::uint64_t>() > std::numeric_limits<std::uint32_t>::max()) {
      return corrupt("gives the token '" + token + "' the id " + number.dump() + ", which is no number of 32 bits");
    }
    const auto id = number.get<std::uint64_t>();
    if (id >= kMaxMergeIds) return refused("the id " + std::to_string(id) + ", beyond a million tokens");
    if (token.empty()) return refused("a token without a character");
    if (id >= strings.size()) strings.resize(id + 1);
    if (!strings[id].empty()) return refused("two tokens with the id " + std::to_string(id));
    strings[id] = token;
    ids.insert(token, static_cast<TokenId>(id));
  }
  return strings;
}

/// The two strings of a merge, "a b" or ["a", "b"].
std::optional<std::pair<std::string_view, std::string_view>> halves(const Json& merge) {
  if (merge.is_string()) {
    const std::string_view both = merge.get_ref<const std::string&>();
    const std::size_t space = both.find(' ');
    if (space == std::string_view::npos || both.find(' ', space + 1) != std::string_view::npos) return std::nullopt;
    return std::pair{both.substr(0, space), both.substr(space + 1)};
  }
  if (!merge.is_array() || merge.size() != 2 || !merge[0].is_string() || !merge[1].is_string()) return std::nullopt;
  return std::pair{std::string_view(merge[0].get_ref<const std::string&>()),
                   std::string_view(merge[1].get_ref<const std::string&>())};
}

Result<std::vector<MergeRule>> read_merges(const Json& model, const TokenTable& ids) {
  const auto merges = model.find("merges");
  if (merges == model.end() || !merges->is_array()) return corrupt("has no merges in its model");
  if (merges->size() >= kMaxRanks) return refused(std::to_string(merges->size()) + " merges");
  std::vector<MergeRule> rules;
  rules.reserve(merges->size());
  std::string together;
  for (const Json& merge : *merges) {
    const auto both = halves(merge);
    const std::string number = "merge " + std::to_string(rules.size());
    if (!both) return corrupt("has a " + number + " that is no pair of strings");
    together.assign(both->first).append(both->second);
    const MergeRule rule{ids.find(both->first), ids.find(both->second), ids.find(together)};
    const auto& missing = rule.left < 0 ? both->first : rule.right < 0 ? both->second : std::string_view(together);
    if (rule.left < 0 || rule.right < 0 || rule.merged < 0) {
      return corrupt("names '" + std::string(missing) + "' in " + number + ", which is not in its vocabulary");
    }
    rules.push_back(rule);
  }
  return rules;
}

}  // namespace

Status read_json_model(const Json& model, TokenizerParts& parts) {
  const auto type = model.find("type");
  if (type == model.end() || *type != "BPE") {
    return refused("the model " + (type == model.end() ? "without a type" : type->dump()));
  }
  if (!absent_or_empty(model, "dropout")) return refused("dropout");
  if (!absent_or_empty(model, "continuing_subword_prefix")) return refused("continuing_subword_prefix");
  if (!absent_or_empty(model, "end_of_word_suffix")) return refused("end_of_word_suffix");

  TokenTable ids;
  auto strings = read_vocabulary(model, ids);
  if (!strings.ok()) return std::move(strings).error();
  auto merges = read_merges(model, ids);
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
