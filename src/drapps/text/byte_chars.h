// The alphabet in which tokenizer.json writes bytes: printable ones as themselves, others from U+0100 on.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace drapps::text {

/// The byte of each character below U+0180, or -1.
using ByteOfChar = std::array<std::int16_t, 0x180>;
const ByteOfChar& byte_of_char() noexcept;

/// Appends the bytes that `token`, valid UTF-8, stands for; false where one of its characters stands for none.
bool to_bytes(std::string_view token, std::string& bytes);

}  // namespace drapps::text
