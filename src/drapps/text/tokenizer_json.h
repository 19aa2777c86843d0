// Reading tokenizer.json, the file of Hugging Face's `tokenizers`.
#pragma once

#include <string_view>

#include "drapps/base/result.h"
#include "drapps/text/tokenizer.h"

namespace drapps::text {

/// Largest file that is read.
inline constexpr std::size_t kMaxJson = std::size_t{256} << 20;

/// @param limits whether truncation and padding that the file asks for count.
/// @return kUnsupported with the reason for a tokenizer that is sound, but would not be reproduced exactly; kTooLarge,
///     kCorrupt for a file that `tokenizers` could not read either.
Result<TokenizerParts> parse_tokenizer_json(std::string_view json, bool limits = true);

}  // namespace drapps::text
