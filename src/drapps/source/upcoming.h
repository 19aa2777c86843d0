// What a pass can tell of samples before they are read.
#pragma once

#include <cstdint>

namespace drapps {

/// What is known of the samples to come: those of the batches under way and of the next ones that may begin.
struct Upcoming {
  std::uint64_t samples = 0;  // that were looked at: up to kMost per pass, of its next batch and of its last
  std::uint64_t sized = 0;    // of which the bytes are known
  std::uint64_t bytes = 0;    // of those
  std::uint64_t seen = 0;     // of which the pixels are known
  std::uint64_t pixels = 0;   // of those
  std::uint64_t indexed = 0;  // pictures of which a complete index is kept

  static constexpr std::uint64_t kMost = 32;

  void add(const Upcoming& other) noexcept {
    samples += other.samples;
    sized += other.sized;
    bytes += other.bytes;
    seen += other.seen;
    pixels += other.pixels;
    indexed += other.indexed;
  }
};

}  // namespace drapps
