#include "drapps/text/corpus/json_field.h"

#include <simdjson.h>

#include <new>
#include <utility>

namespace drapps::text {

struct JsonField::Parser {
  simdjson::dom::parser parser;
};

JsonField::JsonField(std::string field) : field_(std::move(field)), parser_(std::make_unique<Parser>()) {}

JsonField::~JsonField() = default;

Result<std::string_view> JsonField::read(std::string_view object) {
  simdjson::dom::element root;
  if (const auto error = parser_->parser.parse(object.data(), object.size(), /*realloc_if_needed=*/false).get(root)) {
    if (error == simdjson::MEMALLOC) {
      parser_->parser = simdjson::dom::parser();  // a parser without all of its memory would use what it has not
      throw std::bad_alloc();
    }
    return Error{.code = ErrorCode::kCorrupt,
                 .stage = Stage::kDecode,
                 .message = std::string("the line is no JSON: ") + simdjson::error_message(error)};
  }
  std::string_view value;
  if (const auto error = root[field_].get_string().get(value)) {
    return Error{.code = ErrorCode::kUnsupported,
                 .stage = Stage::kDecode,
                 .message = error == simdjson::NO_SUCH_FIELD
                                ? "the line's object has no field \"" + field_ + "\"; name the one with the text"
                            : root.is_object() ? "field \"" + field_ + "\" is no string; name the one with the text"
                                               : "the line is no JSON object"};
  }
  return value;
}

}  // namespace drapps::text
