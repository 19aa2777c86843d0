// RandomApply: the ops behind it are left out with probability 1 - p, all together. As torchvision's RandomApply.
//
// Draws: 1 word; the `count` ops that follow in the description run where it is below p · 2^32. They draw with their
// own ordinals, as they would without this op. One of them may be a RandomApply, whose ops are among them.
#pragma once

#include "drapps/augment/picture/op.h"

namespace drapps {

struct RandomApply {
  static constexpr std::string_view kTag = "random_apply";
  static constexpr int kVersion = 1;

  double p = 0.5;
  std::int32_t count = 1;

  template <class V>
  void fields(V& v) {
    v("p", p);
    v("count", count);
  }
  bool operator==(const RandomApply&) const = default;

  Status check() const;
  /// What is known behind this op alone, which is `in`; what comes behind the ops it covers is either() of both cases.
  Result<PictureSpec> infer(const PictureSpec& in) const;
  /// Sets ctx.skip.
  Status run(Picture& picture, OpContext& ctx) const;
};

/// What is known behind ops that are left out for some samples.
/// @param given what comes before them.
/// @param outcome  what they make.
Result<PictureSpec> either(const PictureSpec& given, const PictureSpec& outcome);

}  // namespace drapps
