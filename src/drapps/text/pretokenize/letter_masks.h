// Letters and white space beyond ASCII in 64 bytes, a bit for each byte. As cut_masks.h, for *_avx2.cc and *_avx512.cc.
#pragma once

#include <cstdint>

namespace drapps::text {
namespace {  // NOLINT(google-build-namespaces)

inline constexpr std::uint8_t kLeadOfNoBreakSpace = 0xC2;

/// The first bytes of no-break spaces that are whole in the block: of white space beyond ASCII the one that is
/// frequent.
template <class Bytes>
std::uint64_t no_break_spaces(const Bytes& bytes) noexcept {
  return bytes.is(static_cast<char>(kLeadOfNoBreakSpace)) & bytes.is(static_cast<char>(0xA0)) >> 1;
}

/// Whether a character that begins with this byte may be among letters_beyond_ascii().
inline bool may_be_letter(std::uint8_t lead) noexcept {
  return (lead >= 0xC3 && lead <= 0xD4) || (lead >= 0xEA && lead <= 0xED);
}

/// The bytes of letters of two or three bytes that are whole in the block, as far as they are of scripts with spaces
/// between words, and of blocks of Unicode that hold hardly anything else: Latin, Greek, Cyrillic, Hangul. Chinese and
/// Japanese are better matched one run after the other: a block has few of them. U+017F, which contractions take for an
/// s, is not among the letters.
template <class Bytes>
std::uint64_t letters_beyond_ascii(const Bytes& bytes) noexcept {
  const auto is = [&](int byte) { return bytes.is(static_cast<char>(byte)); };
  const auto within = [&](int from, int to) { return bytes.within(static_cast<char>(from), static_cast<char>(to)); };
  const auto then = [&](int lead, std::uint64_t second) { return is(lead) & second >> 1; };
  // What is no letter, or not sure to be one.
  const std::uint64_t no_two = then(0xC3, is(0x97) | is(0xB7)) | then(0xC5, is(0xBF)) |
                               then(0xCE, is(0x80) | within(0x81, 0x8D) | is(0xA2)) | then(0xCF, is(0xB6)) |
                               then(0xD2, is(0x80) | within(0x81, 0x89)) | then(0xD4, is(0xB0));
  const std::uint64_t two = (within(0xC3, 0xCA) | within(0xCE, 0xD4)) & ~no_two & ~std::uint64_t{0} >> 1;
  const std::uint64_t three =
      (then(0xEA, within(0xB0, 0xBF)) | within(0xEB, 0xEC) | then(0xED, is(0x80) | within(0x81, 0x9D))) &
      ~std::uint64_t{0} >> 2;
  return two | two << 1 | three | three << 1 | three << 2;
}

}  // namespace
}  // namespace drapps::text
