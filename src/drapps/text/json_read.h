// What the readers of tokenizer.json share.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace drapps::text {

using Json = nlohmann::json;

/// Whether a member of `object` is true.
inline bool is_true(const Json& object, const char* name) {
  const auto member = object.find(name);
  return member != object.end() && *member == true;
}

inline bool is_unset(const Json& object, const char* name) {
  const auto member = object.find(name);
  return member == object.end() || member->is_null();
}

/// Whether a member of `object` is this, or absent and this by default.
template <class T>
bool has(const Json& object, const char* name, const T& value, bool by_default) {
  const auto member = object.find(name);
  return member == object.end() ? by_default : *member == value;
}

/// What `part` says its type is, for messages.
inline std::string type_of(const Json& part) {
  const auto type = part.is_object() ? part.find("type") : part.end();
  return part.is_object() && type != part.end() && type->is_string() ? type->get<std::string>() : part.dump();
}

}  // namespace drapps::text
