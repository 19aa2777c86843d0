// Tokenizers of ranks, as tiktoken has them.
#pragma once

#include <string_view>
#include <vector>

#include "drapps/base/result.h"
#include "drapps/text/bpe/build_model.h"
#include "drapps/text/tokenizer.h"

namespace drapps::text {

/// A tokenizer of ranks that are ids, a pattern and special tokens, which are found only where they are asked for. Of
/// special tokens with one id the first is what that is decoded to.
/// @return kUnsupported with the reason where tiktoken would not be reproduced exactly; kInvalidArgument for ids below
///     zero or ranks that are no vocabulary.
Result<TokenizerParts> parts_of_ranks(const std::vector<TokenBytes>& ranks, std::string_view regex,
                                      const std::vector<TokenBytes>& specials);

}  // namespace drapps::text
