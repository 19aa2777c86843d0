// Cutting pretokens of ideographs and kana further.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "drapps/text/bpe/boundaries.h"
#include "drapps/text/bpe/pretoken_batch.h"

namespace drapps::text {

/// Cuts pretokens of texts with ideographs or kana between characters of three bytes from U+2000 on, where no merge
/// reaches over. These scripts put no spaces between words: a pretoken may be a sentence, which hardly ever comes
/// again, while its parts do. Other characters stay together.
class PartCutter {
 public:
  /// A text has something to cut only where it has lead bytes from the first to the last of these.
  static constexpr std::uint8_t kFirstLead = 0xE3, kLastLead = 0xE9;

  explicit PartCutter(const Boundaries& boundaries) noexcept : boundaries_(boundaries) {}

  /// Whether all that was taken has been given.
  bool empty() const noexcept { return next_ == size_; }
  /// Takes the ends of a batch. Requires empty().
  void take(const PretokenBatch& batch) noexcept;
  /// Sets the ends of a batch, at least one, and what of it are parts. Its text goes on where that of the one before it
  /// ended, or begins where that which was taken does. Requires that not all has been given.
  void give(PretokenBatch& batch) noexcept;

 private:
  static constexpr std::uint32_t kBlock = 64;  // bytes whose boundaries are a word of the machine

  /// Which of the places in the block that begins at `at` are cut; at each a character of three bytes begins, behind
  /// another one.
  std::uint64_t parts_in(std::uint32_t at, std::uint64_t candidates) const noexcept;

  const Boundaries& boundaries_;
  const std::uint8_t* text_ = nullptr;                    // of what was taken
  std::array<std::uint32_t, PretokenBatch::kMost> ends_;  // ascending
  std::size_t next_ = 0;                                  // the first of them that has not been given
  std::size_t size_ = 0;
  std::uint32_t block_ = 0;         // where the next block begins
  std::uint64_t leads_before_ = 0;  // of the block before it: its last three places
  bool part_before_ = false;        // whether what was given last ended within a pretoken
};

}  // namespace drapps::text
