// The "model" of tokenizer.json. For tokenizer_json.cc.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "drapps/base/result.h"
#include "drapps/text/tokenizer.h"

namespace drapps::text {

/// Reads vocabulary and merges into parts.model, .decoded and .vocabulary. Requires an object; errors as
/// parse_tokenizer_json().
Status read_json_model(const nlohmann::json& model, TokenizerParts& parts);

}  // namespace drapps::text
