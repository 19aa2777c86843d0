// Randomness as a coordinate: Philox4x32-10, a counter-based generator.
//
//   Draws draws({.seed = 5, .epoch = 0, .position = 17}, ordinal);
//   const bool flipped = draws.coin(0.5);
//   const std::uint32_t top = draws.below(height);
//
// Source: J. Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011.
// The stream that an op sees depends on nothing but
//     key     = (seed low, seed high)
//     counter = (position low, position high, epoch, ordinal << 16 | block)
// and this layout is part of the documented format of a stream: it never changes.
#pragma once

#include <array>
#include <cstdint>

namespace drapps {

/// One block of four words.
constexpr std::array<std::uint32_t, 4> philox4x32(std::array<std::uint32_t, 4> counter,
                                                  std::array<std::uint32_t, 2> key) noexcept {
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t a = 0xD2511F53ull * counter[0];
    const std::uint64_t b = 0xCD9E8D57ull * counter[2];
    counter = {static_cast<std::uint32_t>(b >> 32) ^ counter[1] ^ key[0], static_cast<std::uint32_t>(b),
               static_cast<std::uint32_t>(a >> 32) ^ counter[3] ^ key[1], static_cast<std::uint32_t>(a)};
    key[0] += 0x9E3779B9u;
    key[1] += 0xBB67AE85u;
  }
  return counter;
}

/// Where in a run a draw happens. Two equal coordinates draw the same numbers, on any machine.
struct Coordinate {
  std::uint64_t seed = 0;
  std::uint32_t epoch = 0;
  std::uint64_t position = 0;  // in the epoch's global order
};

/// Reserved ordinals, above those of a user's ops (1, 2, … in the order of the description). kOrdinalOrder of
/// source/permutation.h has the value of kOrdinalSample: the keys of an order are drawn at the first few positions.
inline constexpr std::uint16_t kOrdinalReplace = 0xFFFF;  // which sample replaces a bad one
inline constexpr std::uint16_t kOrdinalSample = 0xFFFE;   // the global random states that Python code sees in a sample
inline constexpr std::uint16_t kOrdinalBatch = 0xFFFD;    // the global random states while a batch is collated

/// The numbers that one op draws at one coordinate, in order. Cheap to make and to copy.
class Draws {
 public:
  Draws(const Coordinate& at, std::uint16_t ordinal) noexcept : at_(at), ordinal_(ordinal) {}

  std::uint32_t u32() noexcept {
    if (used_ == 4) {
      words_ = philox4x32({static_cast<std::uint32_t>(at_.position), static_cast<std::uint32_t>(at_.position >> 32),
                           at_.epoch, static_cast<std::uint32_t>(ordinal_) << 16 | block_++},
                          {static_cast<std::uint32_t>(at_.seed), static_cast<std::uint32_t>(at_.seed >> 32)});
      used_ = 0;
    }
    return words_[used_++];
  }

  /// Uniform in [0, 1): 32 bits, exact in double.
  double uniform() noexcept { return u32() * 0x1p-32; }
  /// Uniform in [low, high).
  double uniform(double low, double high) noexcept { return low + (high - low) * uniform(); }
  /// Uniform in {0, …, bound - 1}; bound >= 1. The bias is below bound / 2^64.
  std::uint32_t below(std::uint32_t bound) noexcept {
    const std::uint64_t high = u32();
    const std::uint64_t low = u32();
    return static_cast<std::uint32_t>((high * bound + (low * bound >> 32)) >> 32);  // (high, low) · bound / 2^64
  }
  bool coin(double probability) noexcept { return uniform() < probability; }

 private:
  Coordinate at_;
  std::uint16_t ordinal_;
  std::uint16_t block_ = 0;
  std::uint8_t used_ = 4;
  std::array<std::uint32_t, 4> words_{};
};

}  // namespace drapps
