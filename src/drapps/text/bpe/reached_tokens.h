// Which tokens the merges of a model lead to.
#pragma once

#include <vector>

#include "drapps/text/bpe/model.h"

namespace drapps::text {

/// Takes out the tokens whose bytes the merges of `model`, a Merger's, make anything else of. The model needs its ids
/// of bytes, pairs and merged tokens.
void keep_reached(const BpeModel& model, std::vector<TokenBytes>& tokens);

}  // namespace drapps::text
