#include "drapps/text/byte_chars.h"

#include "drapps/text/unicode/utf8.h"

namespace drapps::text {
namespace {

constexpr ByteOfChar kByteOfChar = [] {
  ByteOfChar bytes{};
  bytes.fill(-1);
  std::size_t next = 0x100;
  for (std::int16_t byte = 0; byte < 0x100; ++byte) {
    const bool itself = (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte != 0xAD);
    bytes[itself ? static_cast<std::size_t>(byte) : next++] = byte;
  }
  return bytes;
}();

}  // namespace

const ByteOfChar& byte_of_char() noexcept { return kByteOfChar; }

bool to_bytes(std::string_view token, std::string& bytes) {
  const auto* p = reinterpret_cast<const std::uint8_t*>(token.data());
  const std::uint8_t* const end = p + token.size();
  while (p < end) {
    const CodePoint point = decode_utf8(p);
    if (point.value >= kByteOfChar.size() || kByteOfChar[point.value] < 0) return false;
    bytes.push_back(static_cast<char>(kByteOfChar[point.value]));
    p += point.size;
  }
  return true;
}

}  // namespace drapps::text
