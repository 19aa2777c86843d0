#include "drapps/text/pack/document_encoder.h"

#include <algorithm>
#include <string_view>

namespace drapps::text {
namespace {

// Text that is encoded at once: enough that calls do not show, nor encoders that come from another core, and little
// enough that rows come soon.
constexpr std::size_t kEncodedAtOnce = std::size_t{128} << 10;

}  // namespace

DocumentEncoder::DocumentEncoder(const CorpusAccess& access, const Tokenizer& tokenizer, const Packing& packing,
                                 std::uint32_t split, const PackCursor& at)
    : tokenizer_(tokenizer), packing_(packing), ledger_(access.ledger), reader_(access, packing, split, at) {}

Result<std::size_t> DocumentEncoder::encode_texts(std::size_t most) {
  DRAPPS_RETURN_IF_ERROR(reader_.ready());
  if (reader_.ended()) return std::size_t{0};
  const auto pass_over = [this](Error error) {
    errors_.push_back(std::move(error));
    reader_.advance(1);
    return std::size_t{0};
  };
  if (const Error* error = reader_.error(0)) return pass_over(*error);
  std::vector<std::string_view> texts;
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < std::min(reader_.left(), most) && bytes < kEncodedAtOnce; ++i) {
    if (reader_.error(i) != nullptr) break;
    texts.push_back(reader_.text(i));
    bytes += texts.back().size();
  }
  auto encoded = tokenizer_.encode(texts, 1, {.specials = false}, {.memory = &ledger_});
  if (encoded.ok()) {
    encoded_ = *std::move(encoded);
    return texts.size();
  }
  Error& error = encoded.error();
  if (error.code == ErrorCode::kResourceExhausted) return std::move(error);
  if (texts.size() > 1) return encode_texts(1);
  error.path = reader_.path(0);
  error.stage = Stage::kDecode;
  return pass_over(std::move(error));
}

}  // namespace drapps::text
