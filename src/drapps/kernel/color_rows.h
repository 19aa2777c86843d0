// The loops of color.h in plain C++, compiled once per SIMD level: the compiler turns them into vectors by itself.
// Included by color_<level>.cc only, which is why everything here has internal linkage: an inline function compiled for
// AVX-512 must never be the copy that the linker keeps for all.
//
// The arithmetic is Pillow's (src/libImaging/Convert.c and Blend.c), float by float and double by double;
// branches became selections.
#pragma once

#include "drapps/kernel/color_kernels.h"

namespace drapps::kernel {
namespace {

inline int luma_of(int r, int g, int b) noexcept { return (r * 19595 + g * 38470 + b * 7471 + 0x8000) >> 16; }

inline int rounded(double x) noexcept {  // half up, for x >= 0
  const int whole = static_cast<int>(x);
  return whole + (x - whole >= 0.5 ? 1 : 0);
}

void luma(std::uint8_t* out, const std::uint8_t* const in[3], std::size_t n) {
  const std::uint8_t *r = in[0], *g = in[1], *b = in[2];
  for (std::size_t i = 0; i < n; ++i) out[i] = static_cast<std::uint8_t>(luma_of(r[i], g[i], b[i]));
}

/// Rows go through tiles, so that out == in hides no dependence from the vectoriser.
constexpr std::size_t kTile = 256;

struct Tile {
  std::uint8_t plane[3][kTile];
};

template <class Body>
void by_tiles(std::uint8_t* const out[3], const std::uint8_t* const in[3], std::size_t n, Body body) {
  Tile source, target;
  for (std::size_t x = 0; x < n; x += kTile) {
    const std::size_t size = n - x < kTile ? n - x : kTile;
    for (std::size_t c = 0; c < 3; ++c) __builtin_memcpy(source.plane[c], in[c] + x, size);
    body(target, source, size);
    for (std::size_t c = 0; c < 3; ++c) __builtin_memcpy(out[c] + x, target.plane[c], size);
  }
}

void saturate(std::uint8_t* const out[3], const std::uint8_t* const in[3], std::size_t n, float factor, bool clip) {
  by_tiles(out, in, n, [factor, clip](Tile& target, const Tile& source, std::size_t size) {
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

void turn_hue(std::uint8_t* const out[3], const std::uint8_t* const in[3], std::size_t n, std::uint8_t shift) {
  by_tiles(out, in, n, [shift](Tile& target, const Tile& source, std::size_t size) {
    for (std::size_t i = 0; i < size; ++i) {
      const int r = source.plane[0][i], g = source.plane[1][i], b = source.plane[2][i];
      const int gb_max = g > b ? g : b, gb_min = g < b ? g : b;
      const int value = r > gb_max ? r : gb_max;
      const int low = r < gb_min ? r : gb_min;
      const int range = value - low;
      // A grey pixel has range 0: its quotients are made harmless here, and its result is chosen at the end.
      const auto range_f = static_cast<float>(range > 0 ? range : 1);
      const float red = static_cast<float>(value - r) / range_f;
      const float green = static_cast<float>(value - g) / range_f;
      const float blue = static_cast<float>(value - b) / range_f;
      const float saturation = static_cast<float>(range) / static_cast<float>(value > 0 ? value : 1);
      const float at_red = blue - green;
      const auto at_green = static_cast<float>(2.0 + static_cast<double>(red) - static_cast<double>(blue));
      const auto at_blue = static_cast<float>(4.0 + static_cast<double>(green) - static_cast<double>(red));
      const float sixths = r == value ? at_red : g == value ? at_green : at_blue;
      const double turns = static_cast<double>(sixths) / 6.0 + 1.0;
      const auto fraction = static_cast<float>(turns - static_cast<int>(turns));
      const int hue = (static_cast<int>(static_cast<double>(fraction) * 255.0) + shift) & 255;
      const int s = static_cast<int>(static_cast<double>(saturation) * 255.0);

      const double position = static_cast<double>(hue) * 6.0 / 255.0;
      const int sector = static_cast<int>(position);  // 0 … 6, and 6 is 0
      const auto within = static_cast<float>(position - sector);
      const auto fs = static_cast<float>(static_cast<double>(s) / 255.0);
      const auto v = static_cast<double>(value);
      const int p = rounded(v * (1.0 - static_cast<double>(fs)));
      const int q = rounded(v * (1.0 - static_cast<double>(fs * within)));
      const int t = rounded(v * (1.0 - static_cast<double>(fs) * (1.0 - static_cast<double>(within))));
      const int k = sector == 6 ? 0 : sector;
      // Sectors 0 … 5 give (v t p), (q v p), (p v t), (p q v), (t p v), (v p q).
      const int out_r = k == 1 ? q : ((k == 2) | (k == 3)) ? p : k == 4 ? t : value;
      const int out_g = k == 0 ? t : ((k == 1) | (k == 2)) ? value : k == 3 ? q : p;
      const int out_b = ((k == 0) | (k == 1)) ? p : k == 2 ? t : k == 5 ? q : value;
      target.plane[0][i] = static_cast<std::uint8_t>(s == 0 ? value : out_r);
      target.plane[1][i] = static_cast<std::uint8_t>(s == 0 ? value : out_g);
      target.plane[2][i] = static_cast<std::uint8_t>(s == 0 ? value : out_b);
    }
  });
}

}  // namespace
}  // namespace drapps::kernel
