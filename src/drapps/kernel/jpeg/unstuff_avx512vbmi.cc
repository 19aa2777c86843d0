#include "drapps/kernel/avx512.h"
#include "drapps/kernel/jpeg/unstuff_kernels.h"

namespace drapps::kernel::jpeg {

// 64 bytes at a time, compressed by the mask of those that stay, with no branch but for markers.
Unstuffed unstuff_avx512vbmi(std::uint8_t* out, const std::uint8_t* in, std::size_t n) noexcept {
  const __m512i ff = _mm512_set1_epi8(-1);
  std::size_t read = 0, written = 0;
  std::uint64_t carry = 0;  // the first byte is the 0 of a pair that began in the block before
  // The byte behind the block is looked at too.
  while (n - read > 64) {
    const __m512i block = _mm512_loadu_si512(in + read);
    const std::uint64_t first = _mm512_cmpeq_epi8_mask(block, ff);
    const std::uint64_t stuffed =
        first & _mm512_testn_epi8_mask(_mm512_loadu_si512(in + read + 1), _mm512_loadu_si512(in + read + 1));
    if (first != stuffed) break;
    const std::uint64_t keep = ~(stuffed << 1 | carry);
    _mm512_storeu_si512(out + written, _mm512_maskz_compress_epi8(keep, block));
    written += static_cast<std::size_t>(_mm_popcnt_u64(keep));
    carry = stuffed >> 63;
    read += 64;
  }
  _mm256_zeroupper();
  read += carry;
  const Unstuffed rest = unstuff_portable(out + written, in + read, n - read);
  return {read + rest.read, written + rest.written};
}

}  // namespace drapps::kernel::jpeg
