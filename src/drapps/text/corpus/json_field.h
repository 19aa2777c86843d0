// One field of JSON objects, by simdjson.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "drapps/base/result.h"

namespace drapps::text {

/// Whether a line has nothing but what JSON has for white space.
inline bool is_blank(std::string_view line) noexcept {
  return line.find_first_not_of(" \t\r") == std::string_view::npos;
}

/// One thread; remembers its memory from object to object.
class JsonField {
 public:
  explicit JsonField(std::string field);
  ~JsonField();

  /// The value of the field, a string, until the next call; it has no more bytes than the object. All of the object is
  /// checked. Behind it so many bytes as SIMDJSON_PADDING may be read. kCorrupt for what is no JSON, kUnsupported for
  /// what has no such string.
  Result<std::string_view> read(std::string_view object);

 private:
  struct Parser;
  const std::string field_;
  const std::unique_ptr<Parser> parser_;
};

}  // namespace drapps::text
