// The random numbers that torch's CPU generator gives, from its state on.
//
// The arithmetic is torch's own (aten/src/ATen/core/MT19937RNGEngine.h and TransformationHelper.h).
#pragma once

#include <array>
#include <cmath>
#include <cstdint>

#include "drapps/base/mersenne.h"

namespace drapps {

/// The state of torch's CPU generator, as torch.get_rng_state() gives it.
struct TorchState {
  std::uint64_t initial_seed;
  std::int32_t left;  // words that are to come, and one more
  std::int32_t seeded;
  std::uint64_t next;  // place of the next word in `words`
  std::array<std::uint64_t, kMersenneWords> words;
  std::array<double, 3> normal;
  std::int64_t normal_is_valid;
  std::uint64_t next_float_normal;

  /// Whether numbers can be drawn from it.
  constexpr bool usable() const noexcept {
    return left >= 1 && next <= kMersenneWords && next + static_cast<std::uint64_t>(left) <= kMersenneWords + 1;
  }
};
static_assert(sizeof(TorchState) == 5056);

/// Draws numbers from a usable state, which moves on with each and outlives this object.
class TorchNumbers {
 public:
  /// @param fused a product and its sum are rounded once, as where torch is compiled with such an instruction
  TorchNumbers(TorchState& state, bool fused) noexcept : state_(state), fused_(fused) {}

  /// torch.empty(1).uniform_(low, high), low <= high.
  float uniform(float low, float high) noexcept {
    const float share = static_cast<float>(word() & 0xFFFFFFu) * (1.0f / (1u << 24));
    return fused_ ? std::fma(share, high - low, low) : share * (high - low) + low;
  }
  /// torch.randint(0, count, (1,)), 0 < count <= 2^24.
  std::uint32_t below(std::uint32_t count) noexcept { return word() % count; }

 private:
  std::uint32_t word() noexcept {
    if (--state_.left == 0) {
      mersenne_twist(state_.words);
      state_.left = kMersenneWords;
      state_.next = 0;
    }
    return mersenne_tempered(static_cast<std::uint32_t>(state_.words[state_.next++]));
  }

  TorchState& state_;
  const bool fused_;
};

}  // namespace drapps
