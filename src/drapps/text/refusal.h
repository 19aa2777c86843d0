// Why there is no tokenizer of a description.
#pragma once

#include <string>
#include <utility>

#include "drapps/base/error.h"

namespace drapps::text {

/// The description contradicts itself, or is none.
inline Error corrupt(std::string message) { return {.code = ErrorCode::kCorrupt, .message = std::move(message)}; }

/// The tokenizer is sound, but would not be reproduced exactly.
inline Error refused(std::string reason) { return {.code = ErrorCode::kUnsupported, .message = std::move(reason)}; }

}  // namespace drapps::text
