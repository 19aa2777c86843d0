#include "drapps/text/pack/best_fit.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <utility>

#include "drapps/base/caught.h"

namespace drapps::text {

std::vector<std::vector<std::uint32_t>> best_fit(const std::vector<std::uint32_t>& lengths, std::uint32_t room) {
  std::vector<std::uint32_t> order(lengths.size());
  std::iota(order.begin(), order.end(), 0u);
  std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    return lengths[a] != lengths[b] ? lengths[a] > lengths[b] : a < b;
  });
  std::vector<std::vector<std::uint32_t>> rows;
  std::set<std::pair<std::uint32_t, std::size_t>> left;  // room that a row has, and its number
  for (const std::uint32_t piece : order) {
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
  for (auto& row : rows) std::sort(row.begin(), row.end());
  std::sort(rows.begin(), rows.end());
  return rows;
}

BestFitPacker::BestFitPacker(const CorpusAccess& access, const Tokenizer& tokenizer, const Packing& packing,
                             std::uint32_t split, const PackCursor& at)
    : packing_(packing),
      encoder_(access, tokenizer, packing, split, at),
      block_(encoder_.place()),
      row_(at.row),
      skip_(at.token) {}

PackCursor BestFitPacker::cursor() const noexcept {
  const bool filled = next_ < rows_.size(), filling = rows_.empty() && !encoded_.empty();
  PackCursor at = filled ? encoded_.front().cursor : filling ? block_ : encoder_.place();
  at.token = filled ? next_ : skip_;
  at.row = row_;
  return at;
}

Status BestFitPacker::next(PackedRow& row) {
  while (next_ == rows_.size()) DRAPPS_RETURN_IF_ERROR(catching([&] { return fill_block(); }));
  const std::size_t given = packing_.length + packing_.lookahead;
  row_ids_.clear();
  documents_.clear();
  for (const std::uint32_t place : rows_[next_]) {
    documents_.push_back(static_cast<std::uint32_t>(row_ids_.size()));
    const auto first = ids_.begin() + static_cast<std::ptrdiff_t>(pieces_[place].at);
    row_ids_.insert(row_ids_.end(), first, first + pieces_[place].size);
  }
  row.used = row_ids_.size();
  row_ids_.resize(given, packing_.pad);
  row.ids = row_ids_;
  row.documents = documents_;
  ++next_;
  ++row_;
  return ok_status();
}

/// Where memory ends amid it, the next call goes on with the same block.
Status BestFitPacker::fill_block() {
  if (!rows_.empty()) {
    rows_.clear();
    ids_.clear();
    encoded_.clear();
    next_ = 0;
  }
  do {
    if (encoded_.empty()) block_ = encoder_.place();
    DRAPPS_RETURN_IF_ERROR(encoder_.encode(kDocuments - encoded_.size(), ids_, encoded_));
  } while (encoded_.size() < kDocuments && !encoder_.at_window_end());
  pieces_.clear();
  std::vector<std::uint32_t> lengths;
  for (std::size_t i = 0; i < encoded_.size(); ++i) {
    const std::size_t end = i + 1 < encoded_.size() ? static_cast<std::size_t>(encoded_[i + 1].at) : ids_.size();
    for (auto at = static_cast<std::size_t>(encoded_[i].at); at < end; at += packing_.length) {
      lengths.push_back(static_cast<std::uint32_t>(std::min<std::size_t>(packing_.length, end - at)));
      pieces_.push_back({at, lengths.back()});
    }
  }
  rows_ = best_fit(lengths, packing_.length);
  if (skip_ > rows_.size()) {
    return invalid("the cursors to begin at do not fit these documents; save the state anew", Stage::kDecode);
  }
  if (skip_ > 0) encoder_.take_errors();  // which the block's first row had
  next_ = std::exchange(skip_, 0);
  return ok_status();
}

}  // namespace drapps::text
