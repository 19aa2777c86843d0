#include "drapps/text/pack/packer.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "drapps/base/caught.h"
#include "drapps/text/pack/block_packer.h"
#include "drapps/text/pack/document_packer.h"

namespace drapps::text {
namespace {

constexpr std::uint64_t kLongestDocument = std::uint64_t{1} << 32;  // in ids: a text has fewer bytes

}  // namespace

std::unique_ptr<Packer> make_packer(const CorpusAccess& access, const Tokenizer& tokenizer, const Packing& packing,
                                    std::uint32_t split, const PackCursor& at) {
  switch (packing.fit) {
    case Fit::kConcatenate: break;
    case Fit::kDocuments: return std::make_unique<DocumentPacker>(access, tokenizer, packing, split, at);
    case Fit::kBestFit:
    case Fit::kBudget: return std::make_unique<BlockPacker>(access, tokenizer, packing, split, at);
  }
  return std::make_unique<ConcatenatingPacker>(access, tokenizer, packing, split, at);
}

ConcatenatingPacker::ConcatenatingPacker(const CorpusAccess& access, const Tokenizer& tokenizer, const Packing& packing,
                                         std::uint32_t split, const PackCursor& at)
    : packing_(packing),
      encoder_(access, tokenizer, packing, split, at),
      row_(at.row),
      skip_(std::min(at.token, kLongestDocument)) {}

PackCursor ConcatenatingPacker::cursor() const noexcept {
  PackCursor at = begins_.empty() ? encoder_.place() : begins_.front().cursor;
  // Where nothing is held, the ids to be skipped are those of the document that comes next.
  at.token =
      begins_.empty() ? skip_ : static_cast<std::uint64_t>(static_cast<std::ptrdiff_t>(head_) - begins_.front().at);
  at.row = row_;
  return at;
}

Status ConcatenatingPacker::next(PackedRow& row) {
  const std::size_t wanted = packing_.length + packing_.lookahead;
  while (ids_.size() < head_ + skip_ + wanted && !encoder_.ended()) {
    DRAPPS_RETURN_IF_ERROR(catching([&] { return encode(); }));
    if (skip_ > 0 && begins_.size() > 1 && static_cast<std::ptrdiff_t>(skip_) >= begins_[1].at) {
      return invalid("the cursors to begin at do not fit these documents; save the state anew", Stage::kDecode);
    }
  }
  head_ = std::min<std::size_t>(head_ + std::exchange(skip_, 0), ids_.size());
  row.used = std::min(wanted, ids_.size() - head_);
  row.ids = row.used == wanted ? std::span(ids_).subspan(head_, wanted) : padded(row.used, wanted);
  const auto first = static_cast<std::ptrdiff_t>(head_);
  documents_.clear();
  origins_.clear();
  for (const EncodedDocument& begin : begins_) {
    if (begin.at >= first + static_cast<std::ptrdiff_t>(wanted)) break;
    if (begin.at >= first) documents_.push_back(static_cast<std::uint32_t>(begin.at - first));
    origins_.push_back(begin.origin);
  }
  row.documents = documents_;
  row.origins = origins_;
  head_ = std::min<std::size_t>(head_ + packing_.length, ids_.size());
  ++row_;
  const auto head = static_cast<std::ptrdiff_t>(head_);
  while (begins_.size() > 1 && begins_[1].at <= head) begins_.pop_front();
  if (head_ == ids_.size()) begins_.clear();
  return ok_status();
}

/// The last row of an epoch that ends.
std::span<const TokenId> ConcatenatingPacker::padded(std::size_t used, std::size_t wanted) {
  const auto first = ids_.begin() + static_cast<std::ptrdiff_t>(head_);
  last_.assign(first, first + static_cast<std::ptrdiff_t>(used));
  last_.resize(wanted, packing_.pad);
  return last_;
}

/// Drops ids of rows that were given, and encodes some more.
Status ConcatenatingPacker::encode() {
  if (head_ > ids_.size() / 2) {
    ids_.erase(ids_.begin(), ids_.begin() + static_cast<std::ptrdiff_t>(head_));
    for (EncodedDocument& begin : begins_) begin.at -= static_cast<std::ptrdiff_t>(head_);
    head_ = 0;
  }
  return encoder_.encode(std::numeric_limits<std::size_t>::max(), ids_, begins_);
}

}  // namespace drapps::text
