// Making a model of a vocabulary.
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "drapps/text/bpe/model.h"

namespace drapps::text {

/// Which two ids merge into which; earlier ones have lower ranks.
struct MergeRule {
  TokenId left;
  TokenId right;
  TokenId merged;
};

/// A model whose merges are written out. With `whole_words`, a pretoken that is a token is that token, whatever the
/// merges say; without, that is found out for each token. Requires tokens of different bytes that are not empty,
/// and ids and merges below kMaxMergeIds and kMaxRanks.
BpeModel model_of_merges(const std::vector<TokenBytes>& tokens, const std::vector<MergeRule>& merges, bool whole_words);

/// A model of ranks, as tiktoken has them: two neighbours merge if their bytes together are a token, lowest id first,
/// and a pretoken that is a token is that token. Requires what model_of_merges() does, and a token for each single
/// byte.
BpeModel model_of_ranks(const std::vector<TokenBytes>& tokens);

}  // namespace drapps::text
