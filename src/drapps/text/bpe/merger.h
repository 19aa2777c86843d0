// Merging the bytes of one pretoken into tokens.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "drapps/text/bpe/model.h"

namespace drapps::text {

/// The merges of a pretoken, lowest rank first and among equals the leftmost, until none is left. Short pretokens look
/// through all pairs at each merge. Long ones keep the places of each rank in a list of its own, so that a pretoken of
/// n bytes takes O(n log n) and goes through memory in order. Has memory of its own: one for each thread.
class Merger {
 public:
  /// Longest pretoken that is merged by looking through all pairs.
  static constexpr std::size_t kShort = 255;

  explicit Merger(const BpeModel& model) noexcept : model_(model) {}

  /// Writes the ids of `pretoken` to `out`, which has room for as many as it has bytes; returns their number.
  std::size_t merge(std::string_view pretoken, TokenId* out);

 private:
  /// The places of one rank: of those from `next` on, all that still have this rank are to merge.
  struct RankPlaces {
    std::vector<std::uint32_t> at;
    std::size_t next = 0;
    bool sorted = true;
  };

  /// Merges n bytes that have tokens.
  std::size_t merge_short(std::string_view pretoken, std::size_t n, TokenId* out);
  std::size_t merge_long(std::size_t n, TokenId* out);
  void note(std::uint32_t place, std::uint32_t rank);
  void join(std::uint32_t place);

  const BpeModel& model_;
  std::vector<TokenId> ids_;
  std::vector<std::uint32_t> ranks_;     // of the pair that begins at a place
  std::vector<std::uint32_t> next_;      // place of the right neighbour
  std::vector<std::uint32_t> previous_;  // place of the left neighbour
  std::vector<std::uint32_t> list_of_;   // by rank: its list in lists_, or kNoList
  std::vector<RankPlaces> lists_;
  std::vector<std::uint32_t> free_;  // lists without places
  std::vector<std::uint32_t> heap_;  // ranks that have a list, the lowest on top
};

}  // namespace drapps::text
