#include "drapps/text/bpe/merger.h"

#include <algorithm>
#include <array>
#include <functional>
#include <limits>

namespace drapps::text {
namespace {

static_assert(kMaxRanks <= 1 << 22, "a rank and a place of 8 bits are an int32");
constexpr std::uint32_t kNoList = ~std::uint32_t{0};
/// Releases what a long pretoken took, unless it is little.
template <class T>
void give_back(std::vector<T>& memory, std::size_t kept = std::size_t{1} << 16) {
  if (memory.capacity() > kept) memory = {};
}

}  // namespace

std::size_t Merger::merge(std::string_view pretoken, TokenId* out) {
  std::size_t n = 0;
  for (const char byte : pretoken) {
    const TokenId id = model_.byte_ids[static_cast<std::uint8_t>(byte)];
    out[n] = id;
    n += id >= 0;
  }
  if (n < 2) return n;
  return n <= kShort ? merge_short(pretoken, n, out) : merge_long(n, out);
}

std::size_t Merger::merge_short(std::string_view pretoken, std::size_t n, TokenId* out) {
  // A pair is its rank and, in the low byte, its place: the least of all is the one to merge. Tokens stay at the place
  // of their first byte.
  constexpr std::int32_t kNoPair = std::numeric_limits<std::int32_t>::max();
  std::array<std::int32_t, kShort + 1> pairs;
  std::array<std::uint8_t, kShort + 1> next;
  std::array<std::uint8_t, kShort + 1> previous;
  const auto put = [&](std::size_t left, std::uint32_t rank) {
    pairs[left] = rank == PairTable::kNone ? kNoPair : static_cast<std::int32_t>(rank << 8 | left);
  };
  const auto look_up = [&](std::size_t left, std::size_t right) {
    put(left, model_.pairs.find(out[left], out[right]));
  };
  const bool all = n == pretoken.size();  // bytes have tokens
  for (std::size_t i = 0; i < n; ++i) {
    next[i] = static_cast<std::uint8_t>(i + 1);
    previous[i] = static_cast<std::uint8_t>(i - 1);
    if (i + 1 == n) break;
    all ? put(i, model_.byte_pairs[byte_pair(pretoken[i], pretoken[i + 1])]) : look_up(i, i + 1);
  }
  for (std::size_t i = n - 1; i < (n + 3) / 4 * 4; ++i) pairs[i] = kNoPair;
  // Four at a time, but not as vectors, which would have to wait until what was just written is in the cache.
  const auto pair = [&](std::size_t i) -> std::int32_t { return static_cast<const volatile std::int32_t&>(pairs[i]); };
  for (;;) {
    std::array<std::int32_t, 4> lane{kNoPair, kNoPair, kNoPair, kNoPair};
    for (std::size_t i = 0; i < n; i += 4) {
      lane[0] = std::min(lane[0], pair(i));
      lane[1] = std::min(lane[1], pair(i + 1));
      lane[2] = std::min(lane[2], pair(i + 2));
      lane[3] = std::min(lane[3], pair(i + 3));
    }
    const std::int32_t least = std::min(std::min(lane[0], lane[1]), std::min(lane[2], lane[3]));
    if (least == kNoPair) break;
    const std::size_t place = least & 0xFF;
    const std::size_t right = next[place];
    const std::size_t behind = next[right];
    out[place] = model_.merged[static_cast<std::uint32_t>(least) >> 8];
    next[place] = static_cast<std::uint8_t>(behind);
    pairs[place] = pairs[right] = kNoPair;
    if (behind < n) {
      previous[behind] = static_cast<std::uint8_t>(place);
      look_up(place, behind);
    }
    if (place > 0) look_up(previous[place], place);
  }
  std::size_t tokens = 0;
  for (std::size_t i = 0; i < n; i = next[i]) out[tokens++] = out[i];
  return tokens;
}

void Merger::note(std::uint32_t place, std::uint32_t rank) {
  ranks_[place] = rank;
  if (rank == PairTable::kNone) return;
  std::uint32_t& list = list_of_[rank];
  if (list == kNoList) {
    if (free_.empty()) {
      free_.push_back(static_cast<std::uint32_t>(lists_.size()));
      lists_.emplace_back();
    }
    list = free_.back();
    free_.pop_back();
    heap_.push_back(rank);
    std::push_heap(heap_.begin(), heap_.end(), std::greater<>());
  }
  RankPlaces& places = lists_[list];
  places.sorted = places.sorted && (places.next == places.at.size() || places.at.back() < place);
  places.at.push_back(place);
}

void Merger::join(std::uint32_t place) {
  const std::uint32_t right = next_[place];
  const std::uint32_t behind = next_[right];
  const auto end = static_cast<std::uint32_t>(ids_.size());
  ids_[place] = model_.merged[ranks_[place]];
  next_[place] = behind;
  ranks_[right] = PairTable::kNone;
  ids_[right] = -1;
  if (behind < end) {
    previous_[behind] = place;
    note(place, model_.pairs.find(ids_[place], ids_[behind]));
  } else {
    ranks_[place] = PairTable::kNone;
  }
  if (place > 0) note(previous_[place], model_.pairs.find(ids_[previous_[place]], ids_[place]));
}

std::size_t Merger::merge_long(std::size_t n, TokenId* out) {
  list_of_.resize(model_.merged.size(), kNoList);
  ids_.assign(out, out + n);
  ranks_.assign(n, PairTable::kNone);
  next_.resize(n);
  previous_.resize(n);
  for (std::size_t i = 0; i < n; ++i) {
    next_[i] = static_cast<std::uint32_t>(i + 1);
    previous_[i] = static_cast<std::uint32_t>(i - 1);
    if (i + 1 < n) note(static_cast<std::uint32_t>(i), model_.pairs.find(ids_[i], ids_[i + 1]));
  }
  while (!heap_.empty()) {
    const std::uint32_t rank = heap_.front();
    const std::uint32_t list = list_of_[rank];
    if (!lists_[list].sorted) {
      RankPlaces& places = lists_[list];
      std::sort(places.at.begin() + static_cast<std::ptrdiff_t>(places.next), places.at.end());
      places.sorted = true;
    }
    // A merge may bring a pair of a lower rank, which then comes first, or more places of this one.
    while (heap_.front() == rank && lists_[list].sorted && lists_[list].next < lists_[list].at.size()) {
      const std::uint32_t place = lists_[list].at[lists_[list].next++];
      if (ranks_[place] == rank) join(place);
    }
    if (heap_.front() != rank || lists_[list].next < lists_[list].at.size()) continue;
    std::pop_heap(heap_.begin(), heap_.end(), std::greater<>());
    heap_.pop_back();
    lists_[list].at.clear();
    give_back(lists_[list].at, 64);
    lists_[list].next = 0;
    lists_[list].sorted = true;
    list_of_[rank] = kNoList;
    free_.push_back(list);
  }
  std::size_t tokens = 0;
  for (std::size_t i = 0; i < n; i = next_[i]) out[tokens++] = ids_[i];
  give_back(ids_);
  give_back(ranks_);
  give_back(next_);
  give_back(previous_);
  return tokens;
}

}  // namespace drapps::text
