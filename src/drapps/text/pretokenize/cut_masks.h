// Where pretokens begin in 64 bytes of ASCII and letters, a bit for each byte. For *_avx2.cc and *_avx512.cc, which
// include it after their intrinsics; all of it has internal linkage, as each of them compiles it for its level.
//
// Bit 0 is known to begin a pretoken. What lies behind the bytes is not known, so each function lowers `last`, the
// last bit whose answer is certain.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <type_traits>

#include "drapps/text/pretokenize/letter_masks.h"

namespace drapps::text {
namespace {  // NOLINT(google-build-namespaces)

/// Which of 64 bytes are what. Bits of bytes that are not ASCII are in none but `high`, or all of a character are in
/// `letter` or `white`.
struct ByteMasks {
  std::uint64_t letter;
  std::uint64_t digit;
  std::uint64_t space;    // ' ' alone
  std::uint64_t white;    // white space, ' ' too
  std::uint64_t newline;  // \r and \n
  std::uint64_t apostrophe;
  std::uint64_t capital;  // of ASCII
  std::uint64_t slash;
  std::uint64_t high;
  std::uint64_t white_seconds = 0;  // second bytes of white space

  std::uint64_t other() const noexcept { return ~(letter | digit | white); }
  /// Of characters of white space, given by their last bytes, the first ones.
  std::uint64_t firsts_of_white(std::uint64_t lasts) const noexcept {
    return (lasts & ~white_seconds) | (lasts & white_seconds) >> 1;
  }
};

/// The letters of which contractions consist: s t m d, r v, e, l.
struct ContractionMasks {
  std::uint64_t single;
  std::uint64_t before_e;
  std::uint64_t e;
  std::uint64_t l;
};

/// First bits of the runs of a mask.
inline std::uint64_t firsts(std::uint64_t mask) noexcept { return mask & ~(mask << 1); }

/// Contractions by their apostrophes, of those that may begin one.
struct ContractionBegins {
  std::uint64_t two;    // 's and its kin
  std::uint64_t three;  // 'll, 're, 've

  ContractionBegins(std::uint64_t apostrophes, const ContractionMasks& is) noexcept
      : two(apostrophes & is.single >> 1),
        three(apostrophes & ((is.before_e >> 1 & is.e >> 2) | (is.l >> 1 & is.l >> 2))) {}
  std::uint64_t behind() const noexcept { return two << 2 | three << 3; }
};

/// Contractions that are pretokens: `begins` holds the apostrophes at which pretokens begin.
struct ContractionsApart {
  static std::uint64_t candidates(const ByteMasks& is, std::uint64_t begins) noexcept { return is.apostrophe & begins; }
  static std::uint64_t put(std::uint64_t begins, const ContractionBegins& at, const ByteMasks& /*is*/,
                           unsigned& /*last*/) noexcept {
    return (begins & ~((at.two | at.three) << 1)) | at.behind();
  }
};

/// Contractions that end a word.
struct ContractionsInWords {
  static std::uint64_t candidates(const ByteMasks& is, std::uint64_t /*begins*/) noexcept {
    return is.apostrophe & is.letter << 1;
  }
  static std::uint64_t put(std::uint64_t begins, const ContractionBegins& at, const ByteMasks& is,
                           unsigned& last) noexcept {
    // Behind a contraction no word ends that could have another one.
    if (const std::uint64_t next = at.behind() & is.apostrophe; next != 0) {
      last = std::min(last, static_cast<unsigned>(std::countr_zero(next)));
    }
    const std::uint64_t inside = at.two | at.three | (at.two | at.three) << 1 | at.three << 2;
    return (begins & ~inside) | at.behind();
  }
};

struct NoContractions {
  static std::uint64_t candidates(const ByteMasks& /*is*/, std::uint64_t /*begins*/) noexcept { return 0; }
  static std::uint64_t put(std::uint64_t begins, const ContractionBegins& /*at*/, const ByteMasks& /*is*/,
                           unsigned& /*last*/) noexcept {
    return begins;
  }
};

/// The pattern of GPT-2.
struct Gpt2Begins {
  using Contractions = ContractionsApart;
  static constexpr bool kAnyCase = false;        // of contractions
  static constexpr bool kControlsApart = false;  // whether the matcher is asked where control characters are
  static constexpr bool kOnlyAscii = false;      // whether letters beyond ASCII are others than those in it

  static std::uint64_t find(const ByteMasks& is, unsigned /*top*/, unsigned& /*last*/) noexcept {
    const std::uint64_t words = firsts(is.letter) | firsts(is.digit) | firsts(is.other());
    const std::uint64_t white = firsts(is.white) | is.firsts_of_white(is.white & ~(is.white >> 1));
    return (words & ~(is.space << 1)) | white | 1;
  }
};

/// cl100k and its kin, with at most so many digits.
/// @tparam kNumbersApart  whether white space in front of a number does not leave its last character to that.
template <int kDigits, bool kNumbersApart = false>
struct Cl100kBegins {
  using Contractions = std::conditional_t<kNumbersApart, NoContractions, ContractionsApart>;
  static constexpr bool kAnyCase = true;
  static constexpr bool kControlsApart = kNumbersApart;
  static constexpr bool kOnlyAscii = kNumbersApart;

  static std::uint64_t find(const ByteMasks& is, unsigned top, unsigned& last) noexcept {
    const std::uint64_t other = is.other();
    // Newlines behind punctuation belong to it.
    const std::uint64_t taken = is.newline & ~(is.newline + (is.newline & (other << 1)));
    const std::uint64_t white = is.white & ~taken;
    const std::uint64_t blank = white & ~is.newline;
    // Of a run of white space the part up to its last newline is one pretoken, what follows but its last character
    // another, and the last character goes with what is behind it.
    const std::uint64_t whole = kNumbersApart ? is.newline | is.digit : is.newline;  // what it does not go with
    const std::uint64_t last_blank = is.firsts_of_white(blank & ~(blank >> 1) & ~(whole >> 1));
    const std::uint64_t first_blank = firsts(blank);
    const std::uint64_t behind = (blank + first_blank) & ~blank;  // one bit for each run, in the same order
    const std::uint64_t to_word = _pdep_u64(_pext_u64(~is.newline, behind), first_blank);
    const std::uint64_t spaces = firsts(white) | last_blank | (to_word & (is.newline << 1));
    if (blank >> top & 1) {  // how this run goes on is not known
      const unsigned first = top + 1 - static_cast<unsigned>(std::countl_one(blank << (63 - top)));
      const bool certain = firsts(white) >> first & 1;
      const unsigned limit = certain ? first : first == 0 ? 0 : first - 1;
      if (limit < last) last = limit;
    }
    const std::uint64_t punctuation = firsts(other) & ~(is.space << 1);
    const std::uint64_t words = firsts(is.letter) & ~((blank | punctuation) << 1);
    return spaces | punctuation | words | digits(is.digit) | 1;
  }

 private:
  static std::uint64_t digits(std::uint64_t digit) noexcept {
    if (kDigits == 1) return digit;
    const std::uint64_t third = digit & (digit << 1) & (digit << 2);
    std::uint64_t all = firsts(digit);
    for (std::uint64_t more = all; (more = (more << 3) & third) != 0;) all |= more;
    return all;
  }
};

/// DeepSeek's, which has ASCII as cl100k does, but for contractions, what stands before numbers, and control
/// characters.
using DeepSeekBegins = Cl100kBegins<3, true>;

/// o200k and its kin: words by case.
template <int kDigits, bool kContractions>
struct CasedBegins : Cl100kBegins<kDigits> {
  using Contractions = std::conditional_t<kContractions, ContractionsInWords, NoContractions>;
  static constexpr bool kOnlyAscii = true;

  static std::uint64_t find(const ByteMasks& is, unsigned top, unsigned& last) noexcept {
    // Slashes behind the newlines that belong to punctuation do so, too, and newlines behind those.
    if (const std::uint64_t slashes = is.slash & is.newline << 1; slashes != 0) {
      last = std::min(last, static_cast<unsigned>(std::countr_zero(slashes)) - 1);
    }
    const std::uint64_t small = is.letter & ~is.capital;
    return Cl100kBegins<kDigits>::find(is, top, last) | (is.capital & small << 1);
  }
};

/// A Cut that takes ASCII, and letters of common scripts, 64 bytes at a time and asks the matcher for all else.
/// @tparam Bytes  of the level: Bytes(p, n) reads min(n, 64) bytes; masks(), controls(), contractions(any_case),
///                is(byte), within(from, to) say what they are. write_bits(bits, base, out) writes numbers of bits.
template <class Bytes, class Begins, auto kMatch>
std::size_t cut_blocks(const std::uint8_t* text, std::size_t size, std::uint32_t* ends, std::size_t capacity) noexcept {
  constexpr std::ptrdiff_t kFew = 16;  // that the matcher does at least as well
  const std::uint8_t* const end = text + size;
  const std::uint8_t* p = text;
  std::uint32_t* out = ends;
  std::uint32_t* const full = ends + capacity;
  while (p < end && full - out >= static_cast<std::ptrdiff_t>(kCutStep)) {
    if (end - p >= kFew) {
      const Bytes bytes(p, static_cast<std::size_t>(end - p));
      ByteMasks masks = bytes.masks();
      if constexpr (Begins::kControlsApart) masks.high |= bytes.controls();
      if (masks.high != 0) {
        const std::uint64_t spaces = no_break_spaces(bytes);
        masks.white_seconds = spaces << 1;
        masks.white |= spaces | spaces << 1;
        masks.high &= ~masks.white;
      }
      if constexpr (!Begins::kOnlyAscii) {
        if (masks.high != 0 && may_be_letter(p[std::countr_zero(masks.high)])) {
          const std::uint64_t letters = letters_beyond_ascii(bytes);
          masks.letter |= letters;
          masks.high &= ~letters;
        }
      }
      const unsigned known =
          static_cast<unsigned>(std::min<std::size_t>(std::countr_zero(masks.high), static_cast<std::size_t>(end - p)));
      if (known >= 4) {
        unsigned last = std::min(60U, known - 3);
        std::uint64_t begins = Begins::find(masks, std::min(known, 64U) - 1, last);
        if (const std::uint64_t apostrophes = Begins::Contractions::candidates(masks, begins)) {
          const ContractionBegins contractions(apostrophes, bytes.contractions(Begins::kAnyCase));
          begins = Begins::Contractions::put(begins, contractions, masks, last);
        }
        begins &= (std::uint64_t{2} << last) - 2;
        if (begins != 0) {
          out = Bytes::write_bits(begins, static_cast<std::uint32_t>(p - text), out);
          p += 63 - std::countl_zero(begins);  // as out[-1] says, which is known later
          continue;
        }
      }
    }
    do {
      p = kMatch(p, end);
      *out++ = static_cast<std::uint32_t>(p - text);
    } while (p < end && out < full && *p >= 0x80 && *p != kLeadOfNoBreakSpace &&
             (Begins::kOnlyAscii || !may_be_letter(*p)));
  }
  return static_cast<std::size_t>(out - ends);
}

}  // namespace
}  // namespace drapps::text
