#include "drapps/text/json_model.h"

#include <algorithm>
#include <array>
#include <cstdint>
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
  const auto value = model.find(name);
  if (value == model.end() || value->is_null()) return true;
  return value->is_string() ? value->get_ref<const std::string&>().empty() : *value == 0.0;
}

// Tables of large vocabularies are larger than caches: what is looked up is fetched so many tokens or merges ahead.
constexpr std::size_t kFetchedAhead = 16;

/// The strings of the vocabulary by id.
Result<std::vector<std::string_view>> read_vocabulary(const JsonScan& scan, TokenTable& ids) {
  ids = TokenTable(scan.vocabulary.size());
  std::vector<std::string_view> strings;
  strings.reserve(scan.vocabulary.size());
  for (std::size_t i = 0; i < scan.vocabulary.size(); ++i) {
    if (i + kFetchedAhead < scan.vocabulary.size())
      ids.fetch(hash_bytes(scan.text(scan.vocabulary[i + kFetchedAhead].token)));
    const auto& [range, id] = scan.vocabulary[i];
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
  struct Hashed {
    std::string_view text;
    std::uint64_t hash = 0;
  };
  std::array<std::array<Hashed, 3>, kFetchedAhead> ahead;  // left, right and both, of the merges that come next
  const std::size_t count = scan.merges.size() / 2;
  const auto fetch = [&](std::size_t merge) {
    if (merge >= count) return;
    const std::string_view left = scan.text(scan.merges[2 * merge]), right = scan.text(scan.merges[2 * merge + 1]);
    // The two were kept one behind the other.
    const std::array<std::string_view, 3> texts{left, right, {left.data(), left.size() + right.size()}};
    for (std::size_t i = 0; i < texts.size(); ++i) {
      ahead[merge % kFetchedAhead][i] = {texts[i], hash_bytes(texts[i])};
      ids.fetch(ahead[merge % kFetchedAhead][i].hash);
    }
  };
  for (std::size_t i = 0; i < kFetchedAhead; ++i) fetch(i);
  for (std::size_t i = 0; i < count; ++i) {
    const auto [left, right, together] = ahead[i % kFetchedAhead];
    const MergeRule rule{ids.find(left.text, left.hash), ids.find(right.text, right.hash),
                         ids.find(together.text, together.hash)};
    if (rule.left < 0 || rule.right < 0 || rule.merged < 0) {
      const std::string_view missing = rule.left < 0 ? left.text : rule.right < 0 ? right.text : together.text;
      return corrupt("names '" + std::string(missing) + "' in merge " + std::to_string(i) +
                     ", which is not in its vocabulary");
    }
    rules.push_back(rule);
    fetch(i + kFetchedAhead);
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
