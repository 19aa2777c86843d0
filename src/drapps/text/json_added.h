// The "added_tokens" of tokenizer.json. For tokenizer_json.cc.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "drapps/base/result.h"
#include "drapps/text/bpe/token_table.h"
#include "drapps/text/tokenizer.h"

namespace drapps::text {

/// Adds to parts.added, .decoded and .vocabulary. The model has been read: `ids` are those of its strings, and their
/// number stands in parts.vocabulary. Errors as parse_tokenizer_json().
Status read_json_added(const nlohmann::json& added, const TokenTable& ids, TokenizerParts& parts);

}  // namespace drapps::text
