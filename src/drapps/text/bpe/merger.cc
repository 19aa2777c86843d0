#include "drapps/text/bpe/merger.h"

#include <algorithm>
#include <array>
#include <functional>

namespace drapps::text {
namespace {

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
  return n <= kShort ? merge_short(n, out) : merge_long(n, out);
}

std::size_t Merger::merge_short(std::size_t n, TokenId* out) {
  std::array<std::uint32_t, kShort> ranks;
  std::array<TokenId, kShort> merged;
  const auto look_up = [&](std::size_t i) {
    const Merge merge = model_.pairs.find(out[i], out[i + 1]);
    ranks[i] = merge.rank;
    merged[i] = merge.id;
  };
  for (std::size_t i = 0; i + 1 < n; ++i) look_up(i);
  while (n > 1) {
    const std::size_t pairs = n - 1;
    std::uint32_t best = ranks[0];
    for (std::size_t i = 1; i < pairs; ++i) best = std::min(best, ranks[i]);
    if (best == Merge::kNone) break;
    const std::size_t i =
        static_cast<std::size_t>(std::find(ranks.begin(), ranks.begin() + pairs, best) - ranks.begin());
    out[i] = merged[i];
    std::copy(out + i + 2, out + n, out + i + 1);
    --n;
    if (i + 1 < n) {
      std::copy(ranks.begin() + i + 2, ranks.begin() + pairs, ranks.begin() + i + 1);
      std::copy(merged.begin() + i + 2, merged.begin() + pairs, merged.begin() + i + 1);
      look_up(i);
    }
    if (i > 0) look_up(i - 1);
  }
  return n;
}

void Merger::note(std::uint32_t place, std::uint32_t rank) {
  ranks_[place] = rank;
  if (rank == Merge::kNone) return;
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
  Places& places = lists_[list];
  places.sorted = places.sorted && (places.next == places.at.size() || places.at.back() < place);
  places.at.push_back(place);
}

void Merger::join(std::uint32_t place) {
  const std::uint32_t right = next_[place];
  const std::uint32_t behind = next_[right];
  const auto end = static_cast<std::uint32_t>(ids_.size());
  ids_[place] = model_.pairs.find(ids_[place], ids_[right]).id;
  next_[place] = behind;
  ranks_[right] = Merge::kNone;
  ids_[right] = -1;
  if (behind < end) {
    previous_[behind] = place;
    note(place, model_.pairs.find(ids_[place], ids_[behind]).rank);
  } else {
    ranks_[place] = Merge::kNone;
  }
  if (place > 0) note(previous_[place], model_.pairs.find(ids_[previous_[place]], ids_[place]).rank);
}

std::size_t Merger::merge_long(std::size_t n, TokenId* out) {
  list_of_.resize(model_.ranks, kNoList);
  ids_.assign(out, out + n);
  ranks_.assign(n, Merge::kNone);
  next_.resize(n);
  previous_.resize(n);
  for (std::size_t i = 0; i < n; ++i) {
    next_[i] = static_cast<std::uint32_t>(i + 1);
    previous_[i] = static_cast<std::uint32_t>(i - 1);
    if (i + 1 < n) note(static_cast<std::uint32_t>(i), model_.pairs.find(ids_[i], ids_[i + 1]).rank);
  }
  while (!heap_.empty()) {
    const std::uint32_t rank = heap_.front();
    const std::uint32_t list = list_of_[rank];
    if (!lists_[list].sorted) {
      Places& places = lists_[list];
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
