#include "drapps/text/pack/token_packer.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <string>
#include <utility>

#include "drapps/base/caught.h"
#include "drapps/kernel/widen.h"

namespace drapps::text {

std::uint64_t rows_of(const TokenSet& set, const Packing& packing) noexcept {
  return set.size() < packing.lookahead ? 0 : (set.size() - packing.lookahead) / packing.length;
}

TokenPacker::TokenPacker(const TokenSet& set, const FileReads& storage, MemoryLedger& ledger, const Packing& packing,
                         std::uint32_t split, const PackCursor& at)
    : set_(set),
      storage_(storage),
      packing_(packing),
      split_(split),
      rows_(rows_of(set, packing)),
      row_(at.row),
      buffer_(ledger) {
  first_epoch_ = at.epoch - static_cast<std::uint32_t>(number(row_) / rows_);
  prefetch(row_);
}

PackCursor TokenPacker::cursor() const noexcept { return {.row = row_, .epoch = epoch(row_)}; }

/// The index of a row of the split among the rows of the set.
std::uint64_t TokenPacker::index(std::uint64_t row) {
  const std::uint64_t place = number(row) % rows_;
  if (!packing_.shuffle) return place;
  if (!order_ || order_epoch_ != epoch(row)) {
    order_epoch_ = epoch(row);
    order_.emplace(rows_, packing_.seed, order_epoch_);
  }
  return order_->at(place);
}

/// Whether a document begins with a row, the id before it tells.
TokenPacker::PlacedRow TokenPacker::placed(std::uint64_t row) {
  const std::uint64_t begin = index(row) * packing_.length;
  return {begin, set_.options().documents == DocumentsBy::kEos && begin > 0 ? std::size_t{1} : 0};
}

/// Announces some rows of the epoch from one of the split's on.
void TokenPacker::prefetch(std::uint64_t from) {
  const std::size_t ahead = storage_.ahead();
  if (ahead == 0) return;
  const std::uint64_t behind = from + std::max<std::uint64_t>(1, ahead / packing_.splits);
  announced_ = std::max(announced_, from);
  for (; announced_ < behind && epoch(announced_) == epoch(row_); ++announced_) {
    const auto [begin, before] = placed(announced_);
    const std::uint64_t ids = before + packing_.length + packing_.lookahead;
    for (std::uint64_t done = 0; done < ids;) {
      const TokenPiece piece = set_.piece(begin - before + done, ids - done);
      storage_.prefetch(piece.at);
      done += piece.ids;
    }
  }
}

Status TokenPacker::next(PackedRow& row) {
  const auto [begin, before] = placed(row_);
  const std::size_t wanted = packing_.length + packing_.lookahead;
  before_ = before;
  prefetch(row_ + 1);
  Status status = catching([&] { return read(begin - before_, before_ + wanted); });
  if (!status.ok() && status.error().code == ErrorCode::kResourceExhausted) return status;
  ++row_;
  if (!status.ok()) {
    errors_.push_back(status.error());
    return status;
  }
  list_documents(begin);
  row = {.ids = std::span(std::as_const(ids_)).subspan(before_),
         .used = wanted,
         .documents = documents_,
         .origins = {&origin_, 1}};
  return ok_status();
}

/// Reads ids that may lie in several places.
Status TokenPacker::read(std::uint64_t first, std::uint64_t ids) {
  ids_.clear();
  files_.clear();
  for (std::uint64_t done = 0; done < ids;) {
    const TokenPiece piece = set_.piece(first + done, ids - done);
    ReadRequest request;
    request.at[kFirstPart] = piece.at;
    request.parts = 1;
    request.into[kFirstPart] = &buffer_;
    if (Status status = storage_.read(request); !status.ok()) {
      status.error().path = *piece.path;
      return status;
    }
    wide_.resize(piece.ids);
    const std::size_t width = size_of(piece.dtype);
    kernel::widen(wide_.data(), request.bytes[kFirstPart].data(), width, piece.ids);
    const std::uint64_t limit = std::min<std::uint64_t>(set_.limit(piece.dtype), std::numeric_limits<TokenId>::max());
    const auto bad =
        std::ranges::find_if(wide_, [=](std::int64_t id) { return static_cast<std::uint64_t>(id) > limit; });
    if (bad != wide_.end()) {
      return Error{
          .code = ErrorCode::kCorrupt,
          .stage = Stage::kDecode,
          .message = "id " + std::to_string(*bad) + " is none of the vocabulary; is the dtype that of the file?",
          .path = *piece.path,
          .offset = static_cast<std::int64_t>(piece.offset) + (bad - wide_.begin()) * static_cast<std::int64_t>(width)};
    }
    if (piece.begins) files_.push_back(done);
    if (done <= before_ && before_ < done + piece.ids) {
      origin_ = {.file = piece.file, .block = 0, .at = piece.offset + (before_ - done) * width};
    }
    std::ranges::transform(wide_, std::back_inserter(ids_), [](std::int64_t id) { return static_cast<TokenId>(id); });
    done += piece.ids;
  }
  return ok_status();
}

/// Where documents begin in the row.
/// @param begin  the row's first id, in the set.
void TokenPacker::list_documents(std::uint64_t begin) {
  documents_.clear();
  if (set_.options().documents == DocumentsBy::kIndex) {
    for (const std::uint64_t document : set_.documents(begin, begin + ids_.size())) {
      documents_.push_back(static_cast<std::uint32_t>(document - begin));
    }
    return;
  }
  if (set_.options().documents != DocumentsBy::kEos) return;
  const auto eos = static_cast<std::int64_t>(set_.options().eos);
  auto file = files_.begin();
  for (std::size_t i = before_; i < ids_.size(); ++i) {
    while (file != files_.end() && *file < i) ++file;
    const bool first = file != files_.end() && *file == i;
    if (first || (i > 0 && ids_[i - 1] == eos)) documents_.push_back(static_cast<std::uint32_t>(i - before_));
  }
}

}  // namespace drapps::text
