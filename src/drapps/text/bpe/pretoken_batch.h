// Pretokens, and parts of such, that are looked up together.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "drapps/text/bpe/word_key.h"

namespace drapps::text {

/// Neighbouring pretokens of a text, or parts of them (part_cutter.h), and where the table of words has them.
struct PretokenBatch {
  /// Few enough that what is fetched for them stays next to the core, and so many that unknown ones among them are
  /// merged side by side.
  static constexpr std::size_t kMost = 512;
  static constexpr std::size_t kTogether = 8;  // that a kernel takes at once, beyond the last one too

  const std::uint8_t* text;
  std::size_t size;  // pretokens
  std::array<std::uint32_t, kMost + kTogether> ends;
  std::array<bool, kMost + kTogether> is_part;
  std::array<WordKey, kMost + kTogether> keys;  // of_long() where they are long, as_part() where they are parts
  std::array<std::uint32_t, kMost + kTogether> places;

  std::string_view pretoken(std::size_t i) const noexcept {
    const std::uint32_t begin = i > 0 ? ends[i - 1] : 0;
    return {reinterpret_cast<const char*>(text) + begin, ends[i] - begin};
  }
};

}  // namespace drapps::text
