// 64 pixels at a time. Here one instruction looks up 64 bytes in a table of 128, so that multiplications remain for
// green alone.
//
// - Red and blue are y plus a function of one chroma byte, clamped. A byte and its distance are added or subtracted
//   with saturation: below 128 by one table, from there on by another. The index is the byte without its upper bit.
// - Green is y - r + (-22554 b + 18734 r + 2^15) / 2^16, rounded downwards, b = cb - 128, r = cr - 128; see
//   ycc_words.h for how the fraction comes from bytes. With 128 added to it, it needs no sign, and is the upper byte of
//   each word, which another shuffle collects. What is left is y + (that byte - cr): the difference is added and its
//   opposite subtracted, and since both saturate at 0, one of them is 0.
#include "drapps/kernel/avx512.h"
#include "drapps/kernel/jpeg/pixel_kernels.h"
#include "drapps/kernel/jpeg/ycc_rows.h"
#include "drapps/kernel/vector_table.h"

namespace drapps::kernel::jpeg {
namespace {

using Vec = __m512i;

/// What is subtracted for chroma 0 … 127 (kSign -1), or added for 128 … 255 (kSign 1): factor in units of 2^-16.
template <int kSign>
constexpr VectorTable<std::uint8_t, 128> distances(int factor) {
  return table_by<std::uint8_t, 128>([factor](std::size_t i) {
    const int chroma = static_cast<int>(i) - (kSign < 0 ? 128 : 0);
    return kSign * ((factor * chroma + 32768) >> 16);
  });
}

/// The upper bytes of words whose lower and upper eight bytes of each lane were apart.
constexpr VectorTable<std::uint8_t, 64> kUpperBytes =
    table_by<std::uint8_t, 64>([](std::size_t i) { return i / 8 % 2 * 64 + i / 16 * 16 + i % 8 * 2 + 1; });

/// A table in two registers.
struct Table {
  explicit Table(const VectorTable<std::uint8_t, 128>& bytes)
      : first(_mm512_load_si512(bytes.at)), last(_mm512_load_si512(bytes.at + 64)) {}
  Vec operator[](Vec index) const { return _mm512_permutex2var_epi8(first, index, last); }
  Vec first, last;
};

/// Red or blue.
struct Clamped {
  Table below, above;
  Vec operator()(Vec y, Vec chroma) const {
    const Vec less = _mm512_subs_epu8(y, below[chroma]);
    return _mm512_mask_adds_epu8(less, _mm512_movepi8_mask(chroma), y, above[chroma]);
  }
};

constexpr VectorTable<std::uint8_t, 128> kRedBelow = distances<-1>(91881), kRedAbove = distances<1>(91881);
constexpr VectorTable<std::uint8_t, 128> kBlueBelow = distances<-1>(116130), kBlueAbove = distances<1>(116130);

/// Words whose upper byte is the fraction of green plus 128; pairs are (cb, cr).
Vec fraction(Vec pairs) {
  const auto digits = [](int b, int r) { return _mm512_set1_epi16(static_cast<short>(r * 256 + (b & 255))); };
  const Vec upper = _mm512_maddubs_epi16(pairs, digits(-88, 73)), lower = _mm512_maddubs_epi16(pairs, digits(-26, 46));
  const Vec constant = _mm512_set1_epi16(static_cast<short>(2038 + 128 * 256));
  return _mm512_add_epi16(_mm512_add_epi16(upper, constant), _mm512_srai_epi16(lower, 8));
}

}  // namespace

void ycc_to_rgb_avx512vbmi(std::uint8_t* const rgb[3], const std::uint8_t* const ycc[3], std::size_t n) {
  const Clamped to_red{Table(kRedBelow), Table(kRedAbove)}, to_blue{Table(kBlueBelow), Table(kBlueAbove)};
  const Vec upper_bytes = _mm512_load_si512(kUpperBytes.at);
  convert_row<64>(rgb, ycc, n,
                  [&](std::uint8_t* red, std::uint8_t* green, std::uint8_t* blue, const std::uint8_t* y_row,
                      const std::uint8_t* cb_row, const std::uint8_t* cr_row) {
                    const Vec y = _mm512_loadu_si512(y_row), cb = _mm512_loadu_si512(cb_row);
                    const Vec cr = _mm512_loadu_si512(cr_row);
                    const Vec low = fraction(_mm512_unpacklo_epi8(cb, cr));
                    const Vec high = fraction(_mm512_unpackhi_epi8(cb, cr));
                    const Vec both = _mm512_permutex2var_epi8(low, upper_bytes, high);
                    const Vec more = _mm512_adds_epu8(y, _mm512_subs_epu8(both, cr));
                    _mm512_storeu_si512(red, to_red(y, cr));
                    _mm512_storeu_si512(green, _mm512_subs_epu8(more, _mm512_subs_epu8(cr, both)));
                    _mm512_storeu_si512(blue, to_blue(y, cb));
                  });
}

}  // namespace drapps::kernel::jpeg
