// The "model" of tokenizer.json. For tokenizer_json.cc.
#pragma once

#include "drapps/base/result.h"
#include "drapps/text/bpe/token_table.h"
#include "drapps/text/json_scan.h"
#include "drapps/text/tokenizer.h"

namespace drapps::text {

/// Reads vocabulary and merges into parts.model, .decoded and .vocabulary, and the ids of the strings as they stand in
/// the file into `ids`, which looks into `scan`. Requires an object for a model; errors as parse_tokenizer_json().
Status read_json_model(const JsonScan& scan, TokenTable& ids, TokenizerParts& parts);

}  // namespace drapps::text
