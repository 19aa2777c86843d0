#include "drapps/kernel/avx512.h"

#include <algorithm>
#include <bit>
#include <cstdint>

#include "drapps/text/bpe/merge_in_turns.h"
#include "drapps/text/bpe/merge_words.h"

namespace drapps::text {
namespace {

constexpr int kPlaces = 16;  // of one register
constexpr int kPlaceBits = 5;
constexpr std::int32_t kPlaceMask = (1 << kPlaceBits) - 1;

constexpr std::uint32_t below(int place) noexcept { return (std::uint32_t{1} << place) - 1; }

/// Tokens stay at the place of their first byte. A pair is its rank and, in the low bits, its place: the least of all
/// is the one to merge.
template <int kRegisters>
class WordInRegisters {
  static constexpr int kMost = kRegisters * kPlaces;  // bytes

 public:
  std::size_t number;
  std::int32_t least;  // what to merge

  void begin(const BpeModel& model, std::string_view word) noexcept {
    int size = 0;
    for (int r = 0; r < kRegisters; ++r) {
      const auto left = static_cast<std::int32_t>(word.size()) - r * kPlaces;
      const auto mask = static_cast<__mmask16>(below(std::clamp(left, 0, kPlaces)));
      const __m128i bytes = _mm_maskz_loadu_epi8(mask, word.data() + r * kPlaces);
      const __m512i ids = _mm512_mask_i32gather_epi32(_mm512_set1_epi32(-1), mask, _mm512_cvtepu8_epi32(bytes),
                                                      model.byte_ids.data(), 4);
      _mm512_storeu_si512(ids_ + r * kPlaces, ids);
      size += std::popcount(static_cast<std::uint32_t>(mask & ~_mm512_movepi32_mask(ids)));
    }
    char kept[kMost];
    if (size != static_cast<int>(word.size())) [[unlikely]] {
      // Bytes without a token are left out.
      size = 0;
      for (const char byte : word) {
        const TokenId id = model.byte_ids[static_cast<std::uint8_t>(byte)];
        ids_[size] = id;
        kept[size] = byte;
        size += id >= 0 ? 1 : 0;
      }
      word = {kept, static_cast<std::size_t>(size)};
    }
    tokens_ = static_cast<std::uint32_t>((std::uint64_t{1} << size) - 1);
    left_ = right_ = {.key = 0, .line = model.pairs.words_of(0), .at = 0};
    gone_ = 0;
    for (int r = 0; r < kRegisters; ++r) {
      const auto mask = static_cast<__mmask16>(tokens_ >> 1 >> (r * kPlaces));
      const __m512i first = _mm512_cvtepu8_epi32(_mm_maskz_loadu_epi8(mask, word.data() + r * kPlaces));
      const __m512i second = _mm512_cvtepu8_epi32(_mm_maskz_loadu_epi8(mask, word.data() + r * kPlaces + 1));
      const __m512i none = _mm512_set1_epi32(-1);
      const __m512i ranks = _mm512_mask_i32gather_epi32(
          none, mask, _mm512_or_si512(_mm512_slli_epi32(first, 8), second), model.byte_pairs.data(), 4);
      pairs_[r] = pairs_of(ranks, r);
    }
  }

  /// Looks up what is fetched, and finds the pair to merge: kNoMerge where there is none.
  void choose(const BpeModel& model) noexcept {
    const __m512i left_rank = look_up(model, left_), right_rank = look_up(model, right_);
    __m512i least_of = _mm512_set1_epi32(kNoMerge);
    for (int r = 0; r < kRegisters; ++r) {
      const __m512i kept = _mm512_mask_mov_epi32(pairs_[r], places_in(gone_, r), _mm512_set1_epi32(kNoMerge));
      const __m512i ranks = _mm512_mask_mov_epi32(left_rank, places_in(right_.at, r), right_rank);
      pairs_[r] = _mm512_mask_mov_epi32(kept, places_in(left_.at | right_.at, r), pairs_of(ranks, r));
      least_of = _mm512_min_epi32(least_of, pairs_[r]);
    }
    least = _mm512_reduce_min_epi32(least_of);
    if (least != kNoMerge) __builtin_prefetch(&model.merged[static_cast<std::uint32_t>(least) >> kPlaceBits]);
  }

  void join(const BpeModel& model) noexcept {
    const int place = least & kPlaceMask;
    const std::uint32_t above = tokens_ & ~below(place) & ~(std::uint32_t{1} << place);
    const std::uint32_t behind = above & (above - 1);
    const std::uint32_t before = tokens_ & below(place);
    const TokenId id = model.merged[static_cast<std::uint32_t>(least) >> kPlaceBits];
    ids_[place] = id;
    const std::uint32_t second = above ^ behind;
    tokens_ ^= second;
    gone_ = second | std::uint32_t{1} << place;
    // No branch on which neighbours there are, which cannot be foreseen.
    const int left_place = std::countl_zero(std::uint64_t{before}) ^ 63;
    fetch(model, left_, ids_[left_place & kPlaceMask], id, before != 0);
    left_.at = static_cast<std::uint32_t>(std::uint64_t{1} << (left_place & 63));
    fetch(model, right_, id, ids_[std::countr_zero(behind) & kPlaceMask], behind != 0);
    right_.at = std::uint32_t{behind != 0} << place;
  }

  void finish(MergedWord& merged) const noexcept {
    merged.tokens = static_cast<std::uint32_t>(std::popcount(tokens_));
    if (merged.tokens > MergedWord::kMaxIds) return;
    alignas(64) TokenId all[kMost + kPlaces];
    int size = 0;
    for (int r = 0; r < kRegisters; ++r) {
      const auto mask = static_cast<__mmask16>(tokens_ >> (r * kPlaces));
      _mm512_storeu_si512(all + size, _mm512_maskz_compress_epi32(mask, _mm512_loadu_si512(ids_ + r * kPlaces)));
      size += std::popcount(mask);
    }
    _mm512_mask_storeu_epi32(merged.ids.data(), below(MergedWord::kMaxIds), _mm512_loadu_si512(all));
  }

 private:
  /// A pair of two tokens whose rank is not known yet.
  struct FetchedPair {
    std::uint64_t key;
    const std::uint64_t* line;
    std::uint32_t at;  // the bit of its place, or none
  };

  static __mmask16 places_in(std::uint32_t places, int r) noexcept {
    return static_cast<__mmask16>(places >> (r * kPlaces));
  }
  /// What pairs of these ranks are, PairTable::kNone where they do not merge.
  static __m512i pairs_of(__m512i ranks, int r) noexcept {
    const __m512i places = _mm512_add_epi32(_mm512_set1_epi32(r * kPlaces),
                                            _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0));
    return _mm512_min_epu32(_mm512_or_si512(_mm512_slli_epi32(ranks, kPlaceBits), places), _mm512_set1_epi32(kNoMerge));
  }
  static void fetch(const BpeModel& model, FetchedPair& pair, TokenId left, TokenId right, bool is) noexcept {
    pair.key = PairTable::key_of(left, right) & (std::uint64_t{!is} - 1);
    pair.line = model.pairs.words_of(pair.key);
    __builtin_prefetch(pair.line);
  }
  /// The rank of a pair, in all places.
  static __m512i look_up(const BpeModel& model, const FetchedPair& pair) noexcept {
    const __m512i words = _mm512_load_si512(pair.line);
    const __m512i ranks = _mm512_sub_epi64(words, _mm512_set1_epi64(static_cast<long long>(pair.key)));
    const __mmask8 is = _mm512_cmplt_epu64_mask(ranks, _mm512_set1_epi64(std::int64_t{kMaxRanks}));
    // Beyond a line that is full there may be more.
    const __m512i none = _mm512_set1_epi64(-1);
    const unsigned empty = _mm512_cmpeq_epi64_mask(words, none);
    if ((is | (empty >> (PairTable::kWords - 1))) == 0) [[unlikely]] {
      return _mm512_set1_epi32(static_cast<int>(find_pair(model.pairs, pair.key)));
    }
    // Without a branch, too: where the pair is not there, what is first is the rest of the register.
    return _mm512_broadcastd_epi32(_mm512_castsi512_si128(_mm512_mask_compress_epi64(none, is, ranks)));
  }

  __m512i pairs_[kRegisters];
  TokenId ids_[kMost + kPlaces];
  std::uint32_t tokens_;      // where tokens begin
  std::uint32_t gone_;        // places whose pairs join() took away
  FetchedPair left_, right_;  // that it made
};

/// Merges the words that so many registers, and not fewer, have places for.
template <int kRegisters>
void merge_sized(const BpeModel& model, std::span<const std::string_view> words, MergedWord* merged) noexcept {
  merge_in_turns<WordInRegisters<kRegisters>, 16>(
      model, words, merged, [](std::string_view word) { return (word.size() - 1) / kPlaces + 1 == kRegisters; });
}

}  // namespace

void merge_words_avx512(const BpeModel& model, std::span<const std::string_view> words, MergedWord* merged) noexcept {
  merge_sized<1>(model, words, merged);
  merge_sized<2>(model, words, merged);
}

}  // namespace drapps::text
