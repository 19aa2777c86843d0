#include "drapps/text/json_digest.h"

#define XXH_INLINE_ALL  // NOLINT(readability-identifier-naming): the name is the library's
#include <simdjson.h>
#include <xxhash.h>

#include <algorithm>
#include <new>
#include <type_traits>
#include <utility>
#include <vector>

namespace drapps::text {
namespace {

using Element = simdjson::dom::element;

/// Each value with its type before it, each member with a mark, and strings with their size: no two documents feed the
/// same bytes.
class JsonHash {
 public:
  JsonHash() { XXH3_64bits_reset(&state_); }

  void add(Element value) {
    const auto type = value.type();
    add(type);
    switch (type) {
      case simdjson::dom::element_type::ARRAY: {
        const simdjson::dom::array array = value.get_array().value_unsafe();
        for (const Element each : array) add(each);
        add(kEnd);
        break;
      }
      case simdjson::dom::element_type::OBJECT: add_members(value.get_object().value_unsafe()); break;
      case simdjson::dom::element_type::STRING: add(value.get_string().value_unsafe()); break;
      case simdjson::dom::element_type::INT64: add(value.get_int64().value_unsafe()); break;
      case simdjson::dom::element_type::UINT64: add(value.get_uint64().value_unsafe()); break;
      case simdjson::dom::element_type::DOUBLE: add(value.get_double().value_unsafe()); break;
      case simdjson::dom::element_type::BOOL: add(value.get_bool().value_unsafe()); break;
      default: break;  // null
    }
  }
  std::uint64_t digest() const noexcept { return XXH3_64bits_digest(&state_); }

 private:
  static constexpr char kMember = ',';
  static constexpr char kEnd = ']';  // like kMember the type of nothing

  template <class T>
    requires std::is_arithmetic_v<T> || std::is_enum_v<T>
  void add(T number) noexcept {
    XXH3_64bits_update(&state_, &number, sizeof(number));
  }
  void add(std::string_view text) noexcept {
    add(text.size());
    XXH3_64bits_update(&state_, text.data(), text.size());
  }
  void add_members(simdjson::dom::object object) {
    struct JsonMember {
      std::string_view name;
      std::size_t number;  // of the object's
      Element value;
    };
    std::vector<JsonMember> members;
    for (const auto [name, value] : object) members.push_back({name, members.size(), value});
    std::ranges::sort(members, {}, [](const JsonMember& member) { return std::pair(member.name, member.number); });
    for (std::size_t i = 0; i < members.size(); ++i) {
      if (i + 1 < members.size() && members[i + 1].name == members[i].name) continue;
      add(kMember);
      add(members[i].name);
      add(members[i].value);
    }
    add(kEnd);
  }

  XXH3_state_t state_;
};

}  // namespace

std::optional<std::uint64_t> digest_of_json(std::string_view json) {
  simdjson::dom::parser parser;
  Element root;
  if (const auto error = parser.parse(json.data(), json.size()).get(root)) {
    if (error == simdjson::MEMALLOC) throw std::bad_alloc();
    return std::nullopt;
  }
  JsonHash hash;
  hash.add(root);
  return hash.digest();
}

}  // namespace drapps::text
