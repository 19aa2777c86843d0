// Whether documents are valid UTF-8.
#pragma once

#include <simdjson.h>

#include <string_view>

#include "drapps/base/error.h"

namespace drapps::text {

inline bool is_utf8(std::string_view text) { return simdjson::validate_utf8(text.data(), text.size()); }

inline Error no_utf8() {
  return {.code = ErrorCode::kCorrupt,
          .stage = Stage::kDecode,
          .message = "the document is not valid UTF-8; convert the file, or leave such documents out by on_error"};
}

}  // namespace drapps::text
