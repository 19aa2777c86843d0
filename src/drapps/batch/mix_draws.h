// MixUp and CutMix, described, and the numbers that one batch draws for them.
//
// Distributions and formulas are those of torchvision.transforms.v2 (0.28), of MixUp, CutMix and a RandomChoice of the
// two: λ ~ Beta(α, α), rounded to float32; the box of CutMix has the share 1 − λ of the picture around a uniform
// centre, cut at the edges, and λ is then what is left of the picture, in double precision.
//
// Draws: whether the batch is mixed at all (1 word, below p · 2^32); where both are on, which (1 word: CutMix below
// cutmix_share · 2^32); two gamma deviates; for CutMix, the column of the centre (2 words) and its row (2 words).
//
// The gamma deviate of shape α is G. Marsaglia and W. W. Tsang's ("A simple method for generating gamma variables",
// ACM TOMS 26, 2000), on the fixed functions of base/exact_math.h, its uniform numbers being (word + ½) · 2^-32:
//   1. s = α, or α + 1 where α < 1;  d = s − 1/3;  c = 1 / √(9d).
//   2. x = normal(word), u = uniform(word); again where t = 1 + cx <= 0; v = t³.
//   3. Again where log u >= x²/2 + d(1 − v + log v); else g = log(dv).
//   4. Where α < 1: g += log(uniform(word)) / α.
// With the logarithms g and h of two of them, λ = 1 / (1 + e^(h − g)), which no α is too small for.
#pragma once

#include <cstdint>
#include <string_view>

#include "drapps/augment/picture/fields.h"
#include "drapps/base/philox.h"
#include "drapps/base/result.h"
#include "drapps/data/image.h"
#include "drapps/data/picture.h"

namespace drapps {

/// The description. An α of 0 leaves that kind out.
struct Mix {
  static constexpr std::string_view kTag = "mix";
  static constexpr int kVersion = 1;

  double mixup_alpha = 0;
  double cutmix_alpha = 0;
  double p = 1;               // that a batch is mixed
  double cutmix_share = 0.5;  // of the mixed batches, where both kinds are on
  std::int32_t num_classes = 0;

  template <class V>
  void fields(V& v) {
    v("mixup_alpha", mixup_alpha);
    v("cutmix_alpha", cutmix_alpha);
    v("p", p);
    v("cutmix_share", cutmix_share);
    v("num_classes", num_classes);
  }
  bool operator==(const Mix&) const = default;

  /// kInvalidArgument for what lies out of range, or where neither kind is on.
  Status check() const;
};

/// How one batch is mixed: a row is `lambda` of itself and 1 − lambda of the row before it.
struct MixDraw {
  enum class MixKind : std::uint8_t { kNone, kMixUp, kCutMix };
  MixKind kind = MixKind::kNone;
  double lambda = 1;  // of the labels; of kMixUp's pictures too
  Rect box;           // what kCutMix takes from the row before; may be empty
};

/// λ of Beta(alpha, alpha), a float32 in [0, 1]. Requires 1e-6 <= alpha <= 1e6.
double draw_lambda(double alpha, Draws& draws) noexcept;

/// What a batch of pictures of `extent` draws. Requires mix.check().
MixDraw draw_mix(const Mix& mix, Extent extent, Draws draws) noexcept;

}  // namespace drapps
