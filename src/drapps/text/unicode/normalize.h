// Normal forms of Unicode, as `tokenizers` makes them (UAX #15, of its version of Unicode).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace drapps::text {

enum class Form : std::uint8_t { kNfc, kNfd, kNfkc, kNfkd };

/// Writes `text`, valid UTF-8, in that form to `out`, in O(n log n). False for text that is in that form already, of
/// which it looks at each word of ASCII and at each other character; `out` is then of no use.
bool normalize(Form form, std::string_view text, std::string& out);

}  // namespace drapps::text
