// Colours of one pixel changed on a device: the arithmetic of kernel/color_rows.h, of Pillow that is, float by float
// and double by double.
#pragma once

#include <cstdint>

namespace drapps::device {

/// Levels of one pixel, in 1 to 4 channels.
struct Pixel {
  std::int32_t levels[4];
  std::int32_t channels;
};

enum class Change : std::int32_t { kBrightness, kContrast, kSaturation, kHue, kGrayscale };

/// One change of a picture's colours.
struct PictureColor {
  Change change = Change::kBrightness;
  std::int32_t behind = 0;             // so many of the moves that follow the resize
  float factor = 1;                    // of kBrightness, kContrast and kSaturation
  std::int32_t number = 0;             // of kHue, 1/256 turns; of kGrayscale, channels that it leaves
  std::int32_t height = 0, width = 0;  // of kContrast: of the picture whose mean it blends with
};

inline std::int32_t luma_of(std::int32_t r, std::int32_t g, std::int32_t b) {
  return (r * 19595 + g * 38470 + b * 7471 + 0x8000) >> 16;
}

/// Pictures of other than three channels are as gray as their first.
inline std::int32_t luma_of(const Pixel& pixel) {
  return pixel.channels == 3 ? luma_of(pixel.levels[0], pixel.levels[1], pixel.levels[2]) : pixel.levels[0];
}

/// The level that is `factor` of the way from `degenerate` to `level`; behind it for a factor above 1.
inline std::int32_t blended(std::int32_t degenerate, std::int32_t level, float factor) {
  const float value = static_cast<float>(degenerate) + factor * static_cast<float>(level - degenerate);
  return static_cast<std::int32_t>(value < 0.0F ? 0.0F : value > 255.0F ? 255.0F : value);
}

inline void blend(Pixel& pixel, std::int32_t degenerate, float factor) {
  for (std::int32_t c = 0; c < pixel.channels; ++c) {
    pixel.levels[c] = blended(degenerate, pixel.levels[c], factor);
  }
}

/// The hue in sixths of a turn, as Pillow has it: from -1 to 5.
inline float hue_of(std::int32_t r, std::int32_t g, std::int32_t b, std::int32_t most, std::int32_t range) {
  const auto divisor = static_cast<float>(range);
  const float rc = static_cast<float>(most - r) / divisor;
  const float gc = static_cast<float>(most - g) / divisor;
  const float bc = static_cast<float>(most - b) / divisor;
  if (r == most) return bc - gc;
  if (g == most) return static_cast<float>(2.0 + static_cast<double>(rc) - static_cast<double>(bc));
  return static_cast<float>(4.0 + static_cast<double>(gc) - static_cast<double>(rc));
}

/// Turns the hue of a pixel: to Pillow's HSV of bytes, and back.
inline void turn_hue(Pixel& pixel, std::int32_t shift) {
  const std::int32_t r = pixel.levels[0], g = pixel.levels[1], b = pixel.levels[2];
  const std::int32_t upper = g > b ? g : b, lower = g < b ? g : b;
  const std::int32_t most = r > upper ? r : upper;
  const std::int32_t range = most - (r < lower ? r : lower);
  const float saturation = static_cast<float>(range) / static_cast<float>(most > 0 ? most : 1);
  const auto s = static_cast<std::int32_t>(static_cast<double>(saturation) * 255.0);
  if (s == 0) {
    for (std::int32_t& level : pixel.levels) level = most;
    return;
  }
  const double turns = static_cast<double>(hue_of(r, g, b, most, range)) / 6.0 + 1.0;
  const auto fraction = static_cast<float>(turns - static_cast<std::int32_t>(turns));
  const std::int32_t hue = (static_cast<std::int32_t>(static_cast<double>(fraction) * 255.0) + shift) & 255;
  const double position = hue * 6.0 / 255.0;
  const auto sector = static_cast<std::int32_t>(position);  // 0 to 6, and 6 is 0
  const auto within = static_cast<float>(position - sector);
  const auto fs = static_cast<float>(s / 255.0);
  const double v = most;
  const auto p = static_cast<std::int32_t>(v * (1.0 - static_cast<double>(fs)) + 0.5);
  const auto q = static_cast<std::int32_t>(v * (1.0 - static_cast<double>(fs * within)) + 0.5);
  const auto t =
      static_cast<std::int32_t>(v * (1.0 - static_cast<double>(fs) * (1.0 - static_cast<double>(within))) + 0.5);
  std::int32_t* const out = pixel.levels;
  const auto put = [out](std::int32_t red, std::int32_t green, std::int32_t blue) {
    out[0] = red;
    out[1] = green;
    out[2] = blue;
  };
  switch (sector) {
    case 1: return put(q, most, p);
    case 2: return put(p, most, t);
    case 3: return put(p, q, most);
    case 4: return put(t, p, most);
    case 5: return put(most, p, q);
    default: return put(most, t, p);
  }
}

/// @param mean  of the picture that a contrast is changed of.
inline void change(Pixel& pixel, const PictureColor& color, std::int32_t mean) {
  switch (color.change) {
    case Change::kBrightness: return blend(pixel, 0, color.factor);
    case Change::kContrast: return blend(pixel, mean, color.factor);
    case Change::kSaturation:
      if (pixel.channels == 3) blend(pixel, luma_of(pixel), color.factor);
      return;
    case Change::kHue:
      if (pixel.channels == 3) turn_hue(pixel, color.number);
      return;
    case Change::kGrayscale: {
      const std::int32_t gray = luma_of(pixel);
      pixel.channels = color.number;
      for (std::int32_t& level : pixel.levels) level = gray;
    }
  }
}

}  // namespace drapps::device
