#include "drapps/kernel/avx512.h"

#include <algorithm>

#include "drapps/text/pretokenize/cut_kernels.h"
#include "drapps/text/pretokenize/cut_masks.h"
#include "drapps/text/pretokenize/match.h"

namespace drapps::text {
namespace {

class Avx512Bytes {
 public:
  Avx512Bytes(const std::uint8_t* p, std::size_t n) noexcept
      : bytes_(n >= 64 ? _mm512_loadu_si512(p) : _mm512_maskz_loadu_epi8((std::uint64_t{1} << n) - 1, p)) {}

  ByteMasks masks() const noexcept {
    const std::uint64_t space = is(' ');
    return {.letter = below(_mm512_or_si512(bytes_, _mm512_set1_epi8(0x20)), 'a', 26),
            .digit = below(bytes_, '0', 10),
            .space = space,
            .white = below(bytes_, '\t', 5) | space,
            .newline = is('\n') | is('\r'),
            .apostrophe = is('\''),
            .capital = below(bytes_, 'A', 26),
            .slash = is('/'),
            .high = _mm512_movepi8_mask(bytes_)};
  }

  /// ASCII that is no letter, digit, punctuation or white space.
  std::uint64_t controls() const noexcept { return (below(bytes_, '\0', 0x20) & ~below(bytes_, '\t', 5)) | is('\x7F'); }

  ContractionMasks contractions(bool any_case) const noexcept {
    const Avx512Bytes folded(any_case ? _mm512_or_si512(bytes_, _mm512_set1_epi8(0x20)) : bytes_);
    return {.single = folded.is('s') | folded.is('t') | folded.is('m') | folded.is('d'),
            .before_e = folded.is('r') | folded.is('v'),
            .e = folded.is('e'),
            .l = folded.is('l')};
  }

  /// Writes `base` plus the number of each bit, the lowest first, and rubbish up to 64 numbers; their end.
  static std::uint32_t* write_bits(std::uint64_t bits, std::uint32_t base, std::uint32_t* out) noexcept {
    const __m512i first = _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
    for (int i = 0; i < 4; ++i, bits >>= 16, base += 16) {
      const auto sixteen = static_cast<__mmask16>(bits);
      const __m512i numbers = _mm512_add_epi32(first, _mm512_set1_epi32(static_cast<int>(base)));
      _mm512_storeu_si512(out, _mm512_maskz_compress_epi32(sixteen, numbers));
      out += std::popcount(sixteen);
    }
    return out;
  }

  std::uint64_t is(char c) const noexcept { return _mm512_cmpeq_epi8_mask(bytes_, _mm512_set1_epi8(c)); }
  /// Bytes from `from` to `to`, both ASCII or both not.
  std::uint64_t within(char from, char to) const noexcept {
    return below(bytes_, from, static_cast<char>(to - from + 1));
  }

 private:
  explicit Avx512Bytes(__m512i bytes) noexcept : bytes_(bytes) {}

  static std::uint64_t below(__m512i bytes, char from, char count) noexcept {
    return _mm512_cmplt_epu8_mask(_mm512_sub_epi8(bytes, _mm512_set1_epi8(from)), _mm512_set1_epi8(count));
  }

  __m512i bytes_;
};

}  // namespace

const CutKernels kCutAvx512 = {
    .gpt2 = cut_blocks<Avx512Bytes, Gpt2Begins, match_gpt2>,
    .cl100k = cut_blocks<Avx512Bytes, Cl100kBegins<3>, match_cl100k>,
    .cl100k_tail = cut_blocks<Avx512Bytes, Cl100kBegins<3>, match_cl100k_tail>,
    .qwen2 = cut_blocks<Avx512Bytes, Cl100kBegins<1>, match_qwen2>,
    .o200k = cut_blocks<Avx512Bytes, CasedBegins<3, true>, match_o200k>,
    .tekken = cut_blocks<Avx512Bytes, CasedBegins<1, false>, match_tekken>,
    .deepseek = cut_blocks<Avx512Bytes, DeepSeekBegins, match_deepseek>,
};

}  // namespace drapps::text
