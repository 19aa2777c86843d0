#include "drapps/text/pack/arrange.h"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <set>
#include <tuple>
#include <utility>

namespace drapps::text {
namespace {

std::vector<std::uint32_t> longest_first(const std::vector<std::uint32_t>& lengths) {
  std::vector<std::uint32_t> order(lengths.size());
  std::iota(order.begin(), order.end(), 0u);
  std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    return lengths[a] != lengths[b] ? lengths[a] > lengths[b] : a < b;
  });
  return order;
}

Arrangement in_order(Arrangement rows) {
  for (auto& row : rows) std::sort(row.begin(), row.end());
  std::sort(rows.begin(), rows.end());
  return rows;
}

}  // namespace

Arrangement best_fit(const std::vector<std::uint32_t>& lengths, std::uint32_t room) {
  Arrangement rows;
  std::set<std::pair<std::uint32_t, std::size_t>> left;  // room that a row has, and its number
  for (const std::uint32_t piece : longest_first(lengths)) {
    const auto fullest = left.lower_bound({lengths[piece], 0});
    std::size_t row = rows.size();
    std::uint32_t has = room;
    if (fullest != left.end()) {
      std::tie(has, row) = *fullest;
      left.erase(fullest);
    } else {
      rows.emplace_back();
    }
    rows[row].push_back(piece);
    if (has > lengths[piece]) left.emplace(has - lengths[piece], row);
  }
  return in_order(std::move(rows));
}

Arrangement by_budget(const std::vector<std::uint32_t>& lengths, std::uint64_t budget, const Widths& widths) {
  Arrangement batches;
  std::uint64_t room = 0;  // of the last one, in pieces
  for (const std::uint32_t piece : longest_first(lengths)) {
    if (room == 0) {
      batches.emplace_back();
      room = std::max<std::uint64_t>(1, budget / widths.of(lengths[piece]));
    }
    batches.back().push_back(piece);
    --room;
  }
  return in_order(std::move(batches));
}

}  // namespace drapps::text
