#include "drapps/text/bpe/boundaries.h"

namespace drapps::text {
namespace {

CharBytes whole(std::string_view bytes) noexcept {
  CharBytes all{0, static_cast<std::uint32_t>(bytes.size())};
  std::memcpy(&all.bytes, bytes.data(), bytes.size());
  return all;
}

bool is_continuation(char byte) noexcept { return (static_cast<std::uint8_t>(byte) & 0xC0) == 0x80; }

/// Calls visit(left, right) for each boundary between characters within a token, unless both are ASCII; what is left or
/// right may be the last or first bytes of a character.
template <class Visit>
void for_each_boundary(std::string_view token, const Visit& visit) {
  std::size_t left = 0;
  for (std::size_t at = 1; at < token.size(); ++at) {
    if (is_continuation(token[at])) continue;
    std::size_t end = at + 1;
    while (end < token.size() && is_continuation(token[end])) ++end;
    const bool ascii = at - left == 1 && static_cast<std::uint8_t>(token[left] | token[at]) < 0x80;
    if (!ascii && at - left <= 4 && end - at <= 4) {
      visit(whole(token.substr(left, at - left)), whole(token.substr(at, end - at)));
    }
    left = at;
  }
}

}  // namespace

Boundaries::Boundaries(const std::vector<TokenBytes>& tokens) : partial_(std::size_t{1} << 16) {
  std::size_t boundaries = 0;
  for (const TokenBytes& token : tokens) {
    for_each_boundary(token.bytes, [&](CharBytes, CharBytes) { ++boundaries; });
  }
  seen_.resize(std::bit_ceil(16 * boundaries + 64) / 64);
  shift_ = 64 - std::countr_zero(seen_.size() * 64);
  for (const TokenBytes& token : tokens) {
    for_each_boundary(token.bytes, [&](CharBytes left, CharBytes right) {
      const std::uint64_t bit = bit_of(left, right);
      seen_[bit >> 6] |= std::uint64_t{1} << (bit & 63);
      if (is_continuation(static_cast<char>(left.bytes)) ||
          right.size < utf8_size(static_cast<std::uint8_t>(right.bytes))) {
        partial_[pair(left, right)] |= static_cast<std::uint16_t>(1U << (4 * (left.size - 1) + right.size - 1));
      }
    });
  }
}

bool Boundaries::crossed_partly(CharBytes left, CharBytes right) const noexcept {
  for (unsigned sizes = partial_[pair(left, right)]; sizes != 0; sizes &= sizes - 1) {
    const auto bit = static_cast<unsigned>(std::countr_zero(sizes));
    const std::uint32_t of_left = bit / 4 + 1, of_right = bit % 4 + 1;
    if (of_left <= left.size && of_right <= right.size && crossed_whole(left.last(of_left), right.first(of_right))) {
      return true;
    }
  }
  return false;
}

}  // namespace drapps::text
