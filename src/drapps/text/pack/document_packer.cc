#include "drapps/text/pack/document_packer.h"

#include <limits>

#include "drapps/base/caught.h"
#include "drapps/text/pack/parts.h"

namespace drapps::text {
namespace {

constexpr std::uint32_t kFirst = 0;  // where the only document of a row begins

}  // namespace

DocumentPacker::DocumentPacker(const CorpusAccess& access, const Tokenizer& tokenizer, const Packing& packing,
                               std::uint32_t split, const PackCursor& at)
    : packing_(packing), encoder_(access, tokenizer, unmarked(packing), split, at), part_(at.token), row_(at.row) {}

PackCursor DocumentPacker::cursor() const noexcept {
  PackCursor at = next_ < encoded_.size() ? encoded_[next_].cursor : encoder_.place();
  at.token = part_;
  at.row = row_;
  return at;
}

Status DocumentPacker::next(PackedRow& row) {
  while (next_ == encoded_.size() && !encoder_.ended()) DRAPPS_RETURN_IF_ERROR(catching([&] { return encode(); }));
  ++row_;
  row = {};
  if (next_ == encoded_.size()) return ok_status();
  const std::span<const TokenId> ids = document();
  const std::uint64_t parts = parts_of(packing_, ids.size());
  if (part_ >= parts) {
    --row_;
    return invalid("the cursors to begin at do not fit these documents; save the state anew", Stage::kDecode);
  }
  const Part part = part_of(packing_, ids.size(), part_);
  row_ids_.clear();
  append_part(packing_, ids.subspan(part.at, part.size), row_ids_);
  origin_ = encoded_[next_].origin;
  row = {.ids = row_ids_, .used = row_ids_.size(), .documents = {&kFirst, 1}, .origins = {&origin_, 1}};
  if (++part_ == parts) {
    part_ = 0;
    ++next_;
  }
  return ok_status();
}

Status DocumentPacker::encode() {
  next_ = 0;
  ids_.clear();
  encoded_.clear();
  return encoder_.encode(std::numeric_limits<std::size_t>::max(), ids_, encoded_);
}

/// The ids of the document whose part comes next.
std::span<const TokenId> DocumentPacker::document() const noexcept {
  const auto begin = static_cast<std::size_t>(encoded_[next_].at);
  const std::size_t end = next_ + 1 < encoded_.size() ? static_cast<std::size_t>(encoded_[next_ + 1].at) : ids_.size();
  return std::span(ids_).subspan(begin, end - begin);
}

}  // namespace drapps::text
