// The vocabulary and the merges of a tokenizer.json, by simdjson: nearly all of its bytes. For json_scan.cc.
#pragma once

#include <optional>
#include <string_view>

#include "drapps/text/json_scan.h"

namespace drapps::text {

/// Where the two lists stand in a file, and what is in them.
struct JsonLists {
  std::string_view vocabulary_at;  // in the file
  std::string_view merges_at;
  JsonScan scan;  // without the rest
};

/// Nothing where a file is not as expected: the caller finds out why.
std::optional<JsonLists> read_json_lists(std::string_view json);

}  // namespace drapps::text
