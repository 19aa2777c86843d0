// What descriptions say of masked language modelling.
#pragma once

#include <cstdint>

#include "drapps/base/result.h"

namespace drapps {

/// The fields of a description that a text::Masking is made of.
struct MaskFields {
  static constexpr std::int64_t kNoMask = -1;

  std::int64_t mask = kNoMask;  // the id that stands in the place of most tokens that are chosen
  double mask_probability = 0.15;
  double mask_replaced = 0.8;
  double mask_random = 0.1;
  bool mask_words = false;

  template <class V>
  void mask_fields(V& v) {
    v("mask", mask);
    v("mask_probability", mask_probability);
    v("mask_replaced", mask_replaced);
    v("mask_random", mask_random);
    v("mask_words", mask_words);
  }
};

/// What is wrong with the fields of a description whose labels are masked.
Status check_masks(const MaskFields& fields);

}  // namespace drapps
