#include "drapps/text/tokens/block_encoder.h"

#include <string_view>
#include <utility>

namespace drapps::text {

Result<bool> BlockEncoder::next(unsigned threads, EncodedPiece& piece) {
  piece = {};
  auto more = reader_->next(chunk_);
  if (!more.ok() || !*more) return more;
  piece.errors = chunk_.errors;
  good_.clear();
  for (const auto& one : chunk_.each) {
    if (one.error == DocumentChunk::DocumentText::kGood) good_.push_back(one);
  }
  DRAPPS_RETURN_IF_ERROR(encode(0, good_.size(), threads, piece));
  return true;
}

/// Encodes some good documents of the chunk, which are halved until those that are refused are alone.
Status BlockEncoder::encode(std::size_t first, std::size_t behind, unsigned threads, EncodedPiece& piece) {
  if (first == behind) return ok_status();
  std::vector<std::string_view> texts;
  for (std::size_t i = first; i < behind; ++i) texts.push_back(chunk_.at(good_[i]));
  auto encoded = tokenizer_.encode(texts, threads, {.specials = false});
  if (!encoded.ok()) {
    Error& error = encoded.error();
    if (error.code == ErrorCode::kResourceExhausted) return std::move(error);
    if (behind - first > 1) {
      const std::size_t middle = first + (behind - first) / 2;
      DRAPPS_RETURN_IF_ERROR(encode(first, middle, threads, piece));
      return encode(middle, behind, threads, piece);
    }
    error.path = corpus_.path(good_[first].file);
    error.stage = Stage::kDecode;
    piece.errors.push_back(std::move(error));
    return ok_status();
  }
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const std::size_t begin = piece.ids.size();
    if (marks_.bos) piece.ids.push_back(*marks_.bos);
    piece.ids.insert(piece.ids.end(), encoded->ids.data() + encoded->offsets[i],
                     encoded->ids.data() + encoded->offsets[i + 1]);
    if (marks_.eos) piece.ids.push_back(*marks_.eos);
    if (piece.ids.size() > begin) piece.lengths.push_back(static_cast<std::int32_t>(piece.ids.size() - begin));
  }
  return ok_status();
}

}  // namespace drapps::text
