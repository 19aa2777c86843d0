#include "drapps/text/pack/packer.h"

#include <algorithm>
#include <limits>
#include <string_view>
#include <utility>

#include "drapps/base/caught.h"

namespace drapps::text {
namespace {

// Text that is encoded at once: enough that calls do not show, nor encoders that come from another core, and little
// enough that rows come soon.
constexpr std::size_t kEncodedAtOnce = std::size_t{128} << 10;
constexpr std::uint64_t kLongestDocument = std::uint64_t{1} << 32;  // in ids: a text has fewer bytes
constexpr std::size_t kAll = std::numeric_limits<std::size_t>::max();

}  // namespace

Packer::Packer(const CorpusAccess& access, const Tokenizer& tokenizer, const Packing& packing, std::uint32_t split,
               const PackCursor& at)
    : tokenizer_(tokenizer),
      packing_(packing),
      ledger_(access.ledger),
      reader_(access, packing, split, at),
      row_(at.row),
      skip_(std::min(at.token, kLongestDocument)) {}

PackCursor Packer::cursor() const noexcept {
  PackCursor at = begins_.empty() ? reader_.place(0) : begins_.front().cursor;
  // Where nothing is held, the ids to be skipped are those of the document that comes next.
  at.token =
      begins_.empty() ? skip_ : static_cast<std::uint64_t>(static_cast<std::ptrdiff_t>(head_) - begins_.front().at);
  at.row = row_;
  return at;
}

Status Packer::next(PackedRow& row) {
  const std::size_t wanted = packing_.length + packing_.lookahead;
  while (ids_.size() < head_ + skip_ + wanted) {
    DRAPPS_RETURN_IF_ERROR(catching([&] { return encode(kAll); }));
    if (skip_ > 0 && begins_.size() > 1 && static_cast<std::ptrdiff_t>(skip_) >= begins_[1].at) {
      return invalid("the cursors to begin at do not fit these documents; save the state anew", Stage::kDecode);
    }
  }
  head_ += std::exchange(skip_, 0);
  row.ids = std::span(ids_).subspan(head_, wanted);
  const auto first = static_cast<std::ptrdiff_t>(head_);
  documents_.clear();
  for (const Begin& begin : begins_) {
    if (begin.at >= first + static_cast<std::ptrdiff_t>(wanted)) break;
    if (begin.at >= first) documents_.push_back(static_cast<std::uint32_t>(begin.at - first));
  }
  row.documents = documents_;
  head_ += packing_.length;
  ++row_;
  const auto head = static_cast<std::ptrdiff_t>(head_);
  while (begins_.size() > 1 && begins_[1].at <= head) begins_.pop_front();
  if (head_ == ids_.size()) begins_.clear();
  return ok_status();
}

/// Encodes up to `most` of the documents that come next; drops ids of rows that were given.
Status Packer::encode(std::size_t most) {
  if (head_ > ids_.size() / 2) {
    ids_.erase(ids_.begin(), ids_.begin() + static_cast<std::ptrdiff_t>(head_));
    for (Begin& begin : begins_) begin.at -= static_cast<std::ptrdiff_t>(head_);
    head_ = 0;
  }
  DRAPPS_RETURN_IF_ERROR(reader_.ready());
  if (const Error* error = reader_.error(0)) return pass_over(*error);
  std::vector<std::string_view> texts;
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < std::min(reader_.left(), most) && bytes < kEncodedAtOnce; ++i) {
    if (reader_.error(i) != nullptr) break;
    texts.push_back(reader_.text(i));
    bytes += texts.back().size();
  }
  auto encoded = tokenizer_.encode(texts, 1, {.specials = false}, {.memory = &ledger_});
  if (!encoded.ok()) {
    Error& error = encoded.error();
    if (error.code == ErrorCode::kResourceExhausted) return std::move(error);
    if (texts.size() > 1) return encode(1);
    error.path = reader_.path(0);
    error.stage = Stage::kDecode;
    return pass_over(std::move(error));
  }
  append(*encoded, texts.size());
  return ok_status();
}

Status Packer::pass_over(Error error) {
  errors_.push_back(std::move(error));
  reader_.advance(1);
  return ok_status();
}

void Packer::append(const Tokenizer::Encoded& encoded, std::size_t documents) {
  const std::size_t marks = (packing_.bos ? 1 : 0) + (packing_.eos ? 1 : 0);
  ids_.reserve(ids_.size() + encoded.ids.size() + documents * marks);
  for (std::size_t i = 0; i < documents; ++i) {
    const Begin begin{static_cast<std::ptrdiff_t>(ids_.size()), reader_.place(i)};
    if (packing_.bos) ids_.push_back(*packing_.bos);
    ids_.insert(ids_.end(), encoded.ids.data() + encoded.offsets[i], encoded.ids.data() + encoded.offsets[i + 1]);
    if (packing_.eos) ids_.push_back(*packing_.eos);
    if (static_cast<std::size_t>(begin.at) != ids_.size()) begins_.push_back(begin);
  }
  reader_.advance(documents);
}

}  // namespace drapps::text
