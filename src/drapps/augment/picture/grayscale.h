// Grayscale and RandomGrayscale: Pillow's luma (ITU-R 601-2), always or with probability p.
#pragma once

#include "drapps/augment/picture/op.h"

namespace drapps {

/// The luma, once or three times. Draws nothing.
struct Grayscale {
  static constexpr std::string_view kTag = "grayscale";
  static constexpr int kVersion = 1;

  std::int32_t channels = 1;  // of the result: 1 or 3

  template <class V>
  void fields(V& v) {
    v("channels", channels);
  }
  bool operator==(const Grayscale&) const = default;

  bool draws() const { return false; }
  Status check() const;
  Result<PictureSpec> infer(const PictureSpec& in) const;
  Status run(Picture& picture, OpContext& ctx) const;
};

/// The luma in as many channels as there were. Draws: 1 word; gray where it is below p · 2^32.
struct RandomGrayscale {
  static constexpr std::string_view kTag = "random_grayscale";
  static constexpr int kVersion = 1;

  double p = 0.1;

  template <class V>
  void fields(V& v) {
    v("p", p);
  }
  bool operator==(const RandomGrayscale&) const = default;

  Status check() const;
  Result<PictureSpec> infer(const PictureSpec& in) const;
  Status run(Picture& picture, OpContext& ctx) const;
};

}  // namespace drapps
