// The loops of color.h in plain C++, compiled once per SIMD level: the compiler turns them into vectors by itself.
// Included by color_<level>.cc only, which is why everything here has internal linkage: an inline function compiled for
// AVX-512 must never be the copy that the linker keeps for all.
//
// The arithmetic is Pillow's (src/libImaging/Convert.c and Blend.c), float by float and double by double;
// branches became selections.
#pragma once

#include "drapps/kernel/color_kernels.h"

namespace drapps::kernel {
// Unnamed on purpose: each level compiles these for itself, and the linker must not merge them.
namespace {  // NOLINT(google-build-namespaces)

inline int luma_of(int r, int g, int b) noexcept { return (r * 19595 + g * 38470 + b * 7471 + 0x8000) >> 16; }

/// round() for what becomes a colour: adding a half and truncating gives the same for every hue, saturation and value.
inline int rounded(double x) noexcept { return static_cast<int>(x + 0.5); }

void luma(std::uint8_t* out, const std::uint8_t* const in[3], std::size_t n) {
  const std::uint8_t *r = in[0], *g = in[1], *b = in[2];
  for (std::size_t i = 0; i < n; ++i) out[i] = static_cast<std::uint8_t>(luma_of(r[i], g[i], b[i]));
}

/// Rows go through tiles, so that out == in hides no dependence from the vectoriser.
constexpr std::size_t kTile = 256;

struct ColorTile {
  std::uint8_t plane[3][kTile];
};

template <class Body>
void by_tiles(std::uint8_t* const out[3], const std::uint8_t* const in[3], std::size_t n, Body body) {
  ColorTile source, target;
  for (std::size_t x = 0; x < n; x += kTile) {
    const std::size_t size = n - x < kTile ? n - x : kTile;
    for (std::size_t c = 0; c < 3; ++c) __builtin_memcpy(source.plane[c], in[c] + x, size);
    body(target, source, size);
    for (std::size_t c = 0; c < 3; ++c) __builtin_memcpy(out[c] + x, target.plane[c], size);
  }
}

void saturate(std::uint8_t* const out[3], const std::uint8_t* const in[3], std::size_t n, float factor, bool clip) {
  by_tiles(out, in, n, [factor, clip](ColorTile& target, const ColorTile& source, std::size_t size) {
    int grey[kTile];
    for (std::size_t i = 0; i < size; ++i) {
      grey[i] = luma_of(source.plane[0][i], source.plane[1][i], source.plane[2][i]);
    }
    for (std::size_t c = 0; c < 3; ++c) {
      for (std::size_t i = 0; i < size; ++i) {
        float value =
            static_cast<float>(grey[i]) + factor * static_cast<float>(static_cast<int>(source.plane[c][i]) - grey[i]);
        if (clip) {
          value = value > 0.0F ? value : 0.0F;
          value = value < 255.0F ? value : 255.0F;
        }
        target.plane[c][i] = static_cast<std::uint8_t>(static_cast<int>(value));
      }
    }
  });
}

/// In stages, each over a whole tile and of few types, as the vectoriser likes it.
void turn_hue(std::uint8_t* const out[3], const std::uint8_t* const in[3], std::size_t n, std::uint8_t shift) {
  by_tiles(out, in, n, [shift](ColorTile& target, const ColorTile& source, std::size_t size) {
    int red[kTile], green[kTile], blue[kTile], value[kTile], range[kTile];
    float sixths[kTile], saturation[kTile];
    int hue[kTile], s[kTile];
    int sector[kTile], p[kTile], q[kTile], t[kTile];
    for (std::size_t i = 0; i < size; ++i) {
      const int r = source.plane[0][i], g = source.plane[1][i], b = source.plane[2][i];
      const int gb_max = g > b ? g : b, gb_min = g < b ? g : b;
      value[i] = r > gb_max ? r : gb_max;
      range[i] = value[i] - (r < gb_min ? r : gb_min);
      red[i] = value[i] - r;
      green[i] = value[i] - g;
      blue[i] = value[i] - b;
    }
    for (std::size_t i = 0; i < size; ++i) {
      // A grey pixel has range 0: its quotients are made harmless here, and its saturation of 0 chooses at the end.
      const auto divisor = static_cast<float>(range[i] > 0 ? range[i] : 1);
      const float rc = static_cast<float>(red[i]) / divisor;
      const float gc = static_cast<float>(green[i]) / divisor;
      const float bc = static_cast<float>(blue[i]) / divisor;
      const auto at_green = static_cast<float>(2.0 + static_cast<double>(rc) - static_cast<double>(bc));
      const auto at_blue = static_cast<float>(4.0 + static_cast<double>(gc) - static_cast<double>(rc));
      // Chosen by factors of 0 and 1, which is exact, since branches would keep the loop from becoming vectors.
      const int is_red = red[i] == 0;
      const int is_green = (green[i] == 0) & (is_red ^ 1);
      const int is_blue = 1 - is_red - is_green;
      sixths[i] = static_cast<float>(is_red) * (bc - gc) + static_cast<float>(is_green) * at_green +
                  static_cast<float>(is_blue) * at_blue;
      saturation[i] = static_cast<float>(range[i]) / static_cast<float>(value[i] > 0 ? value[i] : 1);
    }
    for (std::size_t i = 0; i < size; ++i) {
      const double turns = static_cast<double>(sixths[i]) / 6.0 + 1.0;
      const auto fraction = static_cast<float>(turns - static_cast<int>(turns));
      hue[i] = (static_cast<int>(static_cast<double>(fraction) * 255.0) + shift) & 255;
      s[i] = static_cast<int>(static_cast<double>(saturation[i]) * 255.0);
    }
    for (std::size_t i = 0; i < size; ++i) {
      const double position = hue[i] * 6.0 / 255.0;
      sector[i] = static_cast<int>(position);  // 0 … 6, and 6 is 0
      const auto within = static_cast<float>(position - sector[i]);
      const auto fs = static_cast<float>(s[i] / 255.0);
      const double v = value[i];
      p[i] = rounded(v * (1.0 - static_cast<double>(fs)));
      q[i] = rounded(v * (1.0 - static_cast<double>(fs * within)));
      t[i] = rounded(v * (1.0 - static_cast<double>(fs) * (1.0 - static_cast<double>(within))));
    }
    for (std::size_t i = 0; i < size; ++i) {
      // Sectors 0 … 5 give (v t p), (q v p), (p v t), (p q v), (t p v), (v p q); a grey pixel (v v v).
      const int k = s[i] == 0 ? 7 : sector[i];
      const int v = value[i];
      const int to_p = p[i] - v, to_q = q[i] - v, to_t = t[i] - v;
      const int zero = (k == 0) | (k == 6), one = k == 1, two = k == 2, three = k == 3, four = k == 4, five = k == 5;
      const int r = v + one * to_q + (two | three) * to_p + four * to_t;
      const int g = v + zero * to_t + three * to_q + (four | five) * to_p;
      const int b = v + (zero | one) * to_p + two * to_t + five * to_q;
      target.plane[0][i] = static_cast<std::uint8_t>(r);
      target.plane[1][i] = static_cast<std::uint8_t>(g);
      target.plane[2][i] = static_cast<std::uint8_t>(b);
    }
  });
}

}  // namespace
}  // namespace drapps::kernel
