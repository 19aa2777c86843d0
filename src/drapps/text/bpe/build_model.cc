#include "drapps/text/bpe/build_model.h"

#include <algorithm>
#include <numeric>
#include <string>

#include "drapps/text/bpe/reached_tokens.h"

namespace drapps::text {
namespace {

/// Copies the tokens into the model, and gives the copies.
std::vector<TokenBytes> adopt(BpeModel& model, const std::vector<TokenBytes>& tokens) {
  std::size_t size = 0;
  for (const TokenBytes& token : tokens) size += token.bytes.size();
  model.bytes.resize(size);  // a vector moves with its memory: `whole` looks into it
  model.byte_ids.fill(-1);
  std::vector<TokenBytes> copies;
  copies.reserve(tokens.size());
  char* to = model.bytes.data();
  for (const TokenBytes& token : tokens) {
    std::copy(token.bytes.begin(), token.bytes.end(), to);
    copies.push_back({{to, token.bytes.size()}, token.id});
    to += token.bytes.size();
    if (token.bytes.size() == 1) model.byte_ids[static_cast<std::uint8_t>(token.bytes[0])] = token.id;
  }
  return copies;
}

TokenTable table_of(const std::vector<TokenBytes>& tokens) {
  TokenTable table(tokens.size());
  constexpr std::size_t kSoon = 16;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    if (i + kSoon < tokens.size()) table.fetch(hash_bytes(tokens[i + kSoon].bytes));
    table.insert(tokens[i].bytes, tokens[i].id);
  }
  return table;
}

std::vector<std::uint32_t> byte_pairs_of(const BpeModel& model) {
  std::vector<std::uint32_t> ranks(std::size_t{1} << 16, PairTable::kNone);
  for (std::size_t pair = 0; pair < ranks.size(); ++pair) {
    const TokenId left = model.byte_ids[pair >> 8], right = model.byte_ids[pair & 0xFF];
    if (left >= 0 && right >= 0) ranks[pair] = model.pairs.find(left, right);
  }
  return ranks;
}

}  // namespace

BpeModel model_of_merges(const std::vector<TokenBytes>& tokens, const std::vector<MergeRule>& merges,
                         bool whole_words) {
  BpeModel model;
  std::vector<TokenBytes> copies = adopt(model, tokens);
  model.pairs = PairTable(merges.size());
  for (const MergeRule& rule : merges) {
    model.pairs.insert(rule.left, rule.right, static_cast<std::uint32_t>(model.merged.size()));
    model.merged.push_back(rule.merged);
  }
  model.byte_pairs = byte_pairs_of(model);
  model.boundaries = Boundaries(copies);
  model.whole_by_merges = !whole_words;
  if (!whole_words) keep_reached(model, copies);
  model.whole = table_of(copies);
  return model;
}

BpeModel model_of_ranks(const std::vector<TokenBytes>& tokens) {
  BpeModel model;
  std::vector<TokenBytes> copies = adopt(model, tokens);
  model.whole = table_of(copies);
  model.whole_by_merges = false;
  model.boundaries = Boundaries(copies);
  std::sort(copies.begin(), copies.end(), [](const TokenBytes& a, const TokenBytes& b) { return a.id < b.id; });

  struct Pair {
    TokenId left;
    TokenId right;
    std::uint32_t rank;
  };
  std::vector<Pair> pairs;
  for (const TokenBytes& token : copies) {
    const auto rank = static_cast<std::uint32_t>(model.merged.size());
    model.merged.push_back(token.id);
    for (std::size_t cut = 1; cut < token.bytes.size(); ++cut) {
      const TokenId left = model.whole.find(token.bytes.substr(0, cut));
      if (left < 0) continue;
      const TokenId right = model.whole.find(token.bytes.substr(cut));
      if (right >= 0) pairs.push_back({left, right, rank});
    }
  }
  model.pairs = PairTable(pairs.size());
  for (const Pair& pair : pairs) model.pairs.insert(pair.left, pair.right, pair.rank);
  model.byte_pairs = byte_pairs_of(model);
  return model;
}

}  // namespace drapps::text
