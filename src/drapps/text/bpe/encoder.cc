#include "drapps/text/bpe/encoder.h"

#include <array>
#include <cstring>

namespace drapps::text {
namespace {

/// Pretokens that are cut, and whose places in the cache are fetched, before they are looked up: what is fetched for
/// them stays in the first-level cache.
constexpr std::size_t kBatch = 192;
/// What the caches write beyond the ids.
constexpr std::size_t kSlack = 4;

}  // namespace

void Encoder::encode(std::string_view text, IdBuffer& out) {
  std::array<std::uint32_t, kBatch> ends;
  std::array<WordKey, kBatch> keys;
  std::array<std::uint32_t, kBatch> places;
  const auto* batch = reinterpret_cast<const std::uint8_t*>(text.data());
  const std::uint8_t* const end = batch + text.size();
  while (batch < end) {
    const std::size_t n = cut_(batch, static_cast<std::size_t>(end - batch), ends.data(), kBatch);
    std::uint32_t begin = 0;
    for (std::size_t i = 0; i < n; ++i) {
      keys[i] = WordKey::of(batch + begin, ends[i] - begin, end);
      places[i] = words_.place_of(keys[i]);
      begin = ends[i];
    }
    TokenId* ids = out.reserve(begin + kSlack);
    for (std::size_t i = 0; i < n; ++i) {
      const std::size_t known = words_.find(keys[i], places[i], ids);
      ids += known;
      if (known != 0) [[likely]]
        continue;
      begin = i > 0 ? ends[i - 1] : 0;
      TokenId* const before = ids;
      ids = look_up({reinterpret_cast<const char*>(batch) + begin, ends[i] - begin}, ids);
      const auto tokens = static_cast<std::size_t>(ids - before);
      if (ends[i] - begin <= WordKey::kMaxSize && tokens - 1 < WordCache::kMaxIds) {
        words_.insert(keys[i], places[i], before, tokens);
      }
    }
    out.written_to(ids);
    batch += ends[n - 1];
  }
}

TokenId* Encoder::look_up(std::string_view pretoken, TokenId* out) {
  const std::uint64_t hash = hash_bytes(pretoken);
  const bool remembered = pretoken.size() <= PhraseCache::kMaxSize;
  if (remembered) {
    if (const std::size_t known = phrases_.find(pretoken, hash, out); known != 0) return out + known;
  }
  if (const TokenId whole = model_.whole.find(pretoken, hash); whole >= 0) {
    *out = whole;
    return out + 1;
  }
  const std::size_t tokens = merger_.merge(pretoken, out);
  phrases_.insert(pretoken, hash, out, tokens);
  return out + tokens;
}

}  // namespace drapps::text
