#include <immintrin.h>

#include <algorithm>
#include <cstring>

#include "drapps/text/pretokenize/cut_kernels.h"
#include "drapps/text/pretokenize/cut_masks.h"
#include "drapps/text/pretokenize/match.h"

namespace drapps::text {
namespace {

class Avx2Bytes {
 public:
  Avx2Bytes(const std::uint8_t* p, std::size_t n) noexcept {
    alignas(32) std::uint8_t copy[64];
    if (n < 64) {
      std::memset(copy, 0, sizeof(copy));
      std::memcpy(copy, p, n);
      p = copy;
    }
    low_ = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
    high_ = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p + 32));
  }

  ByteMasks masks() const noexcept {
    const std::uint64_t space = is(' ');
    return {.letter = lower_case().within('a', 'z'),
            .digit = within('0', '9'),
            .space = space,
            .white = within('\t', '\r') | space,
            .newline = is('\n') | is('\r'),
            .apostrophe = is('\''),
            .capital = within('A', 'Z'),
            .slash = is('/'),
            .high = joined(low_, high_)};
  }

  /// ASCII that is no letter, digit, punctuation or white space.
  std::uint64_t controls() const noexcept { return (within('\0', '\x1F') & ~within('\t', '\r')) | is('\x7F'); }

  ContractionMasks contractions(bool any_case) const noexcept {
    const Avx2Bytes folded = any_case ? lower_case() : *this;
    return {.single = folded.is('s') | folded.is('t') | folded.is('m') | folded.is('d'),
            .before_e = folded.is('r') | folded.is('v'),
            .e = folded.is('e'),
            .l = folded.is('l')};
  }

  /// Writes `base` plus the number of each bit, the lowest first.
  static std::uint32_t* write_bits(std::uint64_t bits, std::uint32_t base, std::uint32_t* out) noexcept {
    std::uint32_t* const end = out + std::popcount(bits);
    while (bits != 0) {  // eight at a time, beyond the last bit too: a step has room for 64
      for (int i = 0; i < 8; ++i) {
        out[i] = base + static_cast<std::uint32_t>(_tzcnt_u64(bits));
        bits = _blsr_u64(bits);
      }
      out += 8;
    }
    return end;
  }

  std::uint64_t is(char c) const noexcept {
    const __m256i all = _mm256_set1_epi8(c);
    return joined(_mm256_cmpeq_epi8(low_, all), _mm256_cmpeq_epi8(high_, all));
  }
  /// Bytes from `from` to `to`, both ASCII or both beyond 0x80: comparisons are signed.
  std::uint64_t within(char from, char to) const noexcept {
    const __m256i below = _mm256_set1_epi8(static_cast<char>(from - 1));
    const __m256i above = _mm256_set1_epi8(static_cast<char>(to + 1));
    const auto in = [&](__m256i bytes) {
      return _mm256_and_si256(_mm256_cmpgt_epi8(bytes, below), _mm256_cmpgt_epi8(above, bytes));
    };
    return joined(in(low_), in(high_));
  }

 private:
  Avx2Bytes(__m256i low, __m256i high) noexcept : low_(low), high_(high) {}

  Avx2Bytes lower_case() const noexcept {
    const __m256i bit = _mm256_set1_epi8(0x20);
    return {_mm256_or_si256(low_, bit), _mm256_or_si256(high_, bit)};
  }
  static std::uint64_t joined(__m256i low, __m256i high) noexcept {
    return static_cast<std::uint32_t>(_mm256_movemask_epi8(low)) |
           std::uint64_t{static_cast<std::uint32_t>(_mm256_movemask_epi8(high))} << 32;
  }
  __m256i low_;
  __m256i high_;
};

}  // namespace

const CutKernels kCutAvx2 = {
    .gpt2 = cut_blocks<Avx2Bytes, Gpt2Begins, match_gpt2>,
    .cl100k = cut_blocks<Avx2Bytes, Cl100kBegins<3>, match_cl100k>,
    .cl100k_tail = cut_blocks<Avx2Bytes, Cl100kBegins<3>, match_cl100k_tail>,
    .qwen2 = cut_blocks<Avx2Bytes, Cl100kBegins<1>, match_qwen2>,
    .o200k = cut_blocks<Avx2Bytes, CasedBegins<3, true>, match_o200k>,
    .tekken = cut_blocks<Avx2Bytes, CasedBegins<1, false>, match_tekken>,
    .deepseek = cut_blocks<Avx2Bytes, DeepSeekBegins, match_deepseek>,
};

}  // namespace drapps::text
