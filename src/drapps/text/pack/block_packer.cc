#include "drapps/text/pack/block_packer.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "drapps/base/caught.h"

namespace drapps::text {
namespace {

/// How documents are encoded that are marked and arranged here.
Packing encoded_with(const Packing& packing) {
  Packing how = packing.fit == Fit::kBudget ? unmarked(packing) : packing;
  if (how.ends) how.window = 1;
  return how;
}

}  // namespace

BlockPacker::BlockPacker(const CorpusAccess& access, const Tokenizer& tokenizer, const Packing& packing,
                         std::uint32_t split, const PackCursor& at)
    : packing_(packing),
      budget_(packing.fit == Fit::kBudget),
      most_(packing.ends ? std::numeric_limits<std::size_t>::max() : kDocuments),
      encoder_(access, tokenizer, encoded_with(packing), split, at),
      block_(encoder_.place()),
      row_(at.row),
      skip_(at.token) {}

PackCursor BlockPacker::cursor() const noexcept {
  const bool filled = next_ < rows_.size(), filling = rows_.empty() && !encoded_.empty();
  PackCursor at = filled ? encoded_.front().cursor : filling ? block_ : encoder_.place();
  at.token = filled ? next_ : skip_;
  at.row = row_;
  return at;
}

Status BlockPacker::next(PackedRow& row) {
  while (next_ == rows_.size() && !encoder_.ended()) {
    DRAPPS_RETURN_IF_ERROR(catching([&] { return fill_block(); }));
  }
  row_ids_.clear();
  documents_.clear();
  origins_.clear();
  const bool padding = next_ == rows_.size();
  for (const std::uint32_t place :
       padding ? std::span<const std::uint32_t>() : std::span(std::as_const(rows_[next_]))) {
    documents_.push_back(static_cast<std::uint32_t>(row_ids_.size()));
    const auto& [part, document] = pieces_[place];
    origins_.push_back(encoded_[document].origin);
    const auto piece = std::span(std::as_const(ids_)).subspan(part.at, part.size);
    if (budget_) {
      append_part(packing_, piece, row_ids_);
    } else {
      row_ids_.insert(row_ids_.end(), piece.begin(), piece.end());
    }
  }
  row.used = row_ids_.size();
  if (!budget_) row_ids_.resize(packing_.length + packing_.lookahead, packing_.pad);
  row.ids = row_ids_;
  row.documents = documents_;
  row.origins = origins_;
  if (!padding) ++next_;
  ++row_;
  return ok_status();
}

/// Where memory ends amid it, the next call goes on with the same block.
Status BlockPacker::fill_block() {
  if (!rows_.empty()) {
    rows_.clear();
    ids_.clear();
    encoded_.clear();
    next_ = 0;
  }
  do {
    if (encoded_.empty()) block_ = encoder_.place();
    DRAPPS_RETURN_IF_ERROR(encoder_.encode(most_ - encoded_.size(), ids_, encoded_));
  } while (encoded_.size() < most_ && !encoder_.at_window_end());
  const std::vector<std::uint32_t> lengths = cut();
  rows_ = budget_ ? by_budget(lengths, packing_.budget, packing_.widths) : best_fit(lengths, packing_.length);
  if (skip_ > rows_.size()) {
    return invalid("the cursors to begin at do not fit these documents; save the state anew", Stage::kDecode);
  }
  if (skip_ > 0) encoder_.take_errors();  // which the block's first row had
  next_ = std::exchange(skip_, 0);
  return ok_status();
}

/// Lists the pieces of the block, and gives their lengths in a row.
std::vector<std::uint32_t> BlockPacker::cut() {
  const std::uint32_t marks = budget_ ? packing_.length - room_of(packing_) : 0;
  std::vector<std::uint32_t> lengths;
  pieces_.clear();
  const auto add = [&](std::size_t document, std::size_t at, std::uint32_t size) {
    pieces_.push_back({{at, size}, document});
    lengths.push_back(size + marks);
  };
  for (std::size_t i = 0; i < encoded_.size(); ++i) {
    const auto begin = static_cast<std::size_t>(encoded_[i].at);
    const std::size_t end = i + 1 < encoded_.size() ? static_cast<std::size_t>(encoded_[i + 1].at) : ids_.size();
    if (budget_) {
      for (std::uint64_t part = 0; part < parts_of(packing_, end - begin); ++part) {
        const Part of = part_of(packing_, end - begin, part);
        add(i, begin + of.at, of.size);
      }
    } else {
      for (std::size_t at = begin; at < end; at += packing_.length) {
        add(i, at, static_cast<std::uint32_t>(std::min<std::size_t>(packing_.length, end - at)));
      }
    }
  }
  return lengths;
}

}  // namespace drapps::text
