#include "drapps/kernel/avx512.h"

#include <algorithm>
#include <cstdint>

#include "drapps/text/bpe/part_cutter.h"
#include "drapps/text/bpe/word_kernels.h"

namespace drapps::text {
namespace {

__m512i set_all(std::uint64_t word) noexcept { return _mm512_set1_epi64(static_cast<long long>(word)); }

bool has_parts(const std::uint8_t* text, std::size_t size) noexcept {
  constexpr std::size_t kBytes = 64;
  const __m512i first = _mm512_set1_epi8(static_cast<char>(PartCutter::kFirstLead));
  const __m512i count = _mm512_set1_epi8(PartCutter::kLastLead - PartCutter::kFirstLead + 1);
  for (std::size_t at = 0; at < size; at += kBytes) {
    const __mmask64 read = _bzhi_u64(~std::uint64_t{0}, static_cast<unsigned>(std::min(size - at, kBytes)));
    const __m512i bytes = _mm512_maskz_loadu_epi8(read, text + at);
    if (_mm512_cmplt_epu8_mask(_mm512_sub_epi8(bytes, first), count) != 0) return true;
  }
  return false;
}

std::size_t locate_eight(PretokenBatch& batch, const std::uint8_t* /*end*/, const WordSets& words,
                         std::uint32_t* long_ones) noexcept {
  constexpr std::size_t kTogether = PretokenBatch::kTogether;
  std::uint32_t begin = 0;
  for (std::size_t i = 0; i < batch.size; ++i) {
    const auto bytes = static_cast<__mmask16>(_bzhi_u32(0xFFFF, batch.ends[i] - begin));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(&batch.keys[i]), _mm_maskz_loadu_epi8(bytes, batch.text + begin));
    begin = batch.ends[i];
  }
  const __m512i lows = _mm512_set_epi64(14, 12, 10, 8, 6, 4, 2, 0);
  const __m512i highs = _mm512_set_epi64(15, 13, 11, 9, 7, 5, 3, 1);
  const __m512i first_keys = _mm512_set_epi64(11, 3, 10, 2, 9, 1, 8, 0);
  const __m512i last_keys = _mm512_set_epi64(15, 7, 14, 6, 13, 5, 12, 4);
  __m256i ends_before = _mm256_setzero_si256();
  std::size_t n = 0;
  for (std::size_t i = 0; i < batch.size; i += kTogether) {
    const __m256i ends = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(&batch.ends[i]));
    const __m256i sizes = _mm256_sub_epi32(ends, _mm256_alignr_epi32(ends, ends_before, 7));
    ends_before = ends;
    const __m512i first = _mm512_loadu_si512(&batch.keys[i]);
    const __m512i last = _mm512_loadu_si512(&batch.keys[i + 4]);
    const __m512i low = _mm512_permutex2var_epi64(first, lows, last);
    const __m512i bytes_and_sizes = _mm512_or_si512(_mm512_permutex2var_epi64(first, highs, last),
                                                    _mm512_slli_epi64(_mm512_cvtepu32_epi64(sizes), 56));
    const __m128i is_part = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(&batch.is_part[i]));
    const __m512i high = _mm512_or_si512(bytes_and_sizes, _mm512_slli_epi64(_mm512_cvtepu8_epi64(is_part), 63));
    _mm512_storeu_si512(&batch.keys[i], _mm512_permutex2var_epi64(low, first_keys, high));
    _mm512_storeu_si512(&batch.keys[i + 4], _mm512_permutex2var_epi64(low, last_keys, high));
    const __m512i both = _mm512_xor_si512(low, _mm512_mullo_epi64(high, set_all(WordKey::kHighFactor)));
    const __m512i mixed = _mm512_mullo_epi64(both, set_all(WordKey::kFactor));
    const __m512i hashes = _mm512_xor_si512(mixed, _mm512_srli_epi64(mixed, 32));
    const __m512i places = _mm512_slli_epi64(_mm512_and_si512(hashes, set_all(words.mask)), 1);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(&batch.places[i]), _mm512_cvtepi64_epi32(places));
    alignas(64) std::uint64_t place[kTogether];
    _mm512_store_si512(place, places);
    for (std::size_t j = 0; j < kTogether; ++j) __builtin_prefetch(words.entries + place[j]);
    unsigned is_long = _mm256_cmpgt_epu32_mask(sizes, _mm256_set1_epi32(WordKey::kMaxSize));
    if (batch.size - i < kTogether) is_long &= (1U << (batch.size - i)) - 1;
    for (; is_long != 0; is_long &= is_long - 1) long_ones[n++] = static_cast<std::uint32_t>(i + _tzcnt_u32(is_long));
  }
  return n;
}

std::size_t copy_by_line(const PretokenBatch& batch, std::size_t number, const WordSets& words,
                         TokenId*& out) noexcept {
  TokenId* to = out;
  const WordEntry* const all = words.entries;
  const std::size_t size = batch.size;
  const __m128i only_ids = _mm_set_epi32(-1, -1, -1, (1 << WordEntry::kIdBits) - 1);
  for (; number < size; ++number) {
    const WordEntry* const entries = all + batch.places[number];
    const __m128i key = _mm_loadu_si128(reinterpret_cast<const __m128i*>(&batch.keys[number]));
    const unsigned same = _mm512_cmpeq_epi64_mask(_mm512_load_si512(entries), _mm512_broadcast_i64x2(key));
    const unsigned is = same & same >> 1 & 0x11;  // a bit for each of the two
    if (is == 0) break;
    const WordEntry& entry = entries[~is & 1];
    const std::uint32_t tokens = entry.ids[0] >> WordEntry::kIdBits;
    const __m128i ids = _mm_loadu_si128(reinterpret_cast<const __m128i*>(entry.ids));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to), _mm_and_si128(ids, only_ids));
    to += tokens;
  }
  out = to;
  return number;
}

}  // namespace

const WordKernels kWordsAvx512 = {.has_parts = has_parts, .locate = locate_eight, .copy_known = copy_by_line};

}  // namespace drapps::text
