// ColorJitter: brightness, contrast, saturation and hue changed by random factors, in random order. Distributions as
// torchvision's ColorJitter, arithmetic as Pillow's ImageEnhance (and torchvision's adjust_hue on a Pillow image).
//
// A range that holds nothing but the neutral factor turns its step off. A gray picture has neither saturation nor
// hue: these steps leave it alone, as Pillow does.
//
// Draws: the order, 2 words: one of the 24 permutations of (brightness, contrast, saturation, hue) in lexicographic
// order; then 1 word for the factor of each step that is on, in that fixed order.
#pragma once

#include "drapps/augment/picture/op.h"

namespace drapps {

struct ColorJitter {
  static constexpr std::string_view kTag = "color_jitter";
  static constexpr int kVersion = 1;

  std::array<double, 2> brightness{1, 1};  // factor, uniform; 1 changes nothing
  std::array<double, 2> contrast{1, 1};
  std::array<double, 2> saturation{1, 1};
  std::array<double, 2> hue{0, 0};  // turn of the colour circle, within [-0.5, 0.5]; 0 changes nothing

  template <class V>
  void fields(V& v) {
    v("brightness", brightness);
    v("contrast", contrast);
    v("saturation", saturation);
    v("hue", hue);
  }
  bool operator==(const ColorJitter&) const = default;

  enum JitterStep : std::uint8_t { kBrightness, kContrast, kSaturation, kHue };
  /// What one sample's draws say.
  struct Drawn {
    std::array<JitterStep, 4> order{};  // of all four steps
    std::array<bool, 4> on{};           // by step
    std::array<double, 4> factor{};     // by step
  };
  Drawn draw(Draws& draws) const noexcept;

  Status check() const;
  Result<PictureSpec> infer(const PictureSpec& in) const;
  Status run(Picture& picture, OpContext& ctx) const;
};

}  // namespace drapps
