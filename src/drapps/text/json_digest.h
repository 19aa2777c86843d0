// What a JSON document says, as a number: the same however it is written.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace drapps::text {

/// XXH3 over all values. Neither white space, nor escapes, nor the order of an object's members count; of members of
/// one name the last one does, as in Python's json. nullopt for what simdjson does not read: no JSON, numbers beyond 64
/// bits, lone surrogates. Throws std::bad_alloc.
std::optional<std::uint64_t> digest_of_json(std::string_view json);

}  // namespace drapps::text
