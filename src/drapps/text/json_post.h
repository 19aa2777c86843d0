// The "post_processor" of tokenizer.json. For tokenizer_json.cc.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "drapps/base/result.h"
#include "drapps/text/tokenizer.h"

namespace drapps::text {

/// Fills parts.single, .pair and .trim. Errors as parse_tokenizer_json().
Status read_json_post_processor(const nlohmann::json& post, TokenizerParts& parts);

}  // namespace drapps::text
