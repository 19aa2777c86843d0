// UTF-8 that may be none.
#pragma once

#include <string>
#include <string_view>

namespace drapps::text {

/// Writes `bytes` to `out` with U+FFFD in the place of what is no UTF-8, as Python's bytes.decode("utf-8", "replace"):
/// one for each longest piece that begins a character, else for each byte. False, with `out` as it was, for valid
/// UTF-8.
bool repair_utf8(std::string_view bytes, std::string& out);

}  // namespace drapps::text
