#include "drapps/text/bpe/encoder.h"

#include <array>
#include <cstring>

namespace drapps::text {
namespace {

/// Pretokens that are cut before they are looked up: their ends stay in the first-level cache.
constexpr std::size_t kBatch = 512;
/// What WordKey reads, and what WordCache writes beyond the ids.
constexpr std::size_t kRead = 16;
constexpr std::size_t kSlack = 4;

}  // namespace

void Encoder::encode(std::string_view text, IdBuffer& out) {
  std::array<std::uint32_t, kBatch> ends;
  const auto* batch = reinterpret_cast<const std::uint8_t*>(text.data());
  const std::uint8_t* const end = batch + text.size();
  while (batch < end) {
    const std::size_t n = cut_(batch, static_cast<std::size_t>(end - batch), ends.data(), kBatch);
    TokenId* ids = out.reserve(ends[n - 1] + kSlack);
    std::uint32_t begin = 0;
    for (std::size_t i = 0; i < n; ++i) {
      const std::uint8_t* const p = batch + begin;
      const std::size_t size = ends[i] - begin;
      begin = ends[i];
      if (size <= WordKey::kMaxSize && end - p >= static_cast<std::ptrdiff_t>(kRead)) [[likely]] {
        const WordKey key = WordKey::of(p, size);
        const std::size_t known = words_.find(key, ids);
        ids += known;
        if (known != 0) [[likely]]
          continue;
        TokenId* const before = ids;
        ids = look_up({reinterpret_cast<const char*>(p), size}, ids);
        const auto tokens = static_cast<std::size_t>(ids - before);
        if (tokens - 1 < WordCache::kMaxIds) words_.insert(key, before, tokens);
      } else {
        ids = look_up({reinterpret_cast<const char*>(p), size}, ids);
      }
    }
    out.written_to(ids);
    batch += begin;
  }
}

TokenId* Encoder::look_up(std::string_view pretoken, TokenId* out) {
  const TokenId whole = model_.whole.find(pretoken);
  if (whole >= 0) {
    *out = whole;
    return out + 1;
  }
  return out + merger_.merge(pretoken, out);
}

}  // namespace drapps::text
