#include "drapps/text/collate/pad.h"

#include <algorithm>
#include <numeric>

namespace drapps::text {
namespace {

/// Calls `act` with each row's number, where it begins and ends among the values.
template <class Act>
void for_each_row(Begins begins, Act act) {
  for (std::size_t row = 0; row + 1 < begins.size(); ++row) {
    act(row, static_cast<std::size_t>(begins[row]), static_cast<std::size_t>(begins[row + 1]));
  }
}

}  // namespace

void pad_rows(std::span<const std::int64_t> values, Begins begins, std::size_t width, std::int64_t fill, bool left,
              std::span<std::int64_t> out) {
  for_each_row(begins, [&](std::size_t row, std::size_t begin, std::size_t end) {
    const std::span<std::int64_t> to = out.subspan(row * width, width);
    const std::size_t rest = width - (end - begin);
    const std::span<const std::int64_t> from = values.subspan(begin, end - begin);
    std::copy(from.begin(), from.end(), to.begin() + static_cast<std::ptrdiff_t>(left ? rest : 0));
    std::ranges::fill(left ? to.first(rest) : to.last(rest), fill);
  });
}

void mark_rows(Begins begins, std::size_t width, bool left, std::span<std::int64_t> out) {
  for_each_row(begins, [&](std::size_t row, std::size_t begin, std::size_t end) {
    const std::span<std::int64_t> to = out.subspan(row * width, width);
    const std::size_t rest = width - (end - begin);
    std::ranges::fill(to, 1);
    std::ranges::fill(left ? to.first(rest) : to.last(rest), 0);
  });
}

void count_in_rows(Begins begins, std::int64_t first, std::span<std::int64_t> out) {
  for_each_row(begins, [&](std::size_t, std::size_t begin, std::size_t end) {
    const std::span<std::int64_t> to = out.subspan(begin, end - begin);
    std::iota(to.begin(), to.end(), first);
  });
}

void number_rows(Begins begins, std::span<std::int32_t> out) {
  for_each_row(begins, [&](std::size_t row, std::size_t begin, std::size_t end) {
    std::ranges::fill(out.subspan(begin, end - begin), static_cast<std::int32_t>(row));
  });
}

}  // namespace drapps::text
